"""Requests for every operation of the interface, made from its OpenAPI document.

A parameter that is not known here is an error: a new route is attacked, or the run fails until somebody says how.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

WORKSPACE_HEADER = "X-Workspace-Id"
PUBLIC = frozenset({"about", "healthz", "readyz", "get_config"})
"""What anybody may call."""
OF_THE_USER = frozenset({"get_me", "create_workspace", "accept_invitation"})
"""What works outside of any workspace."""

_METHODS = ("get", "put", "post", "patch", "delete", "head", "options", "trace")


class UnknownParameterError(LookupError):
    """Nobody has said yet how to fill this parameter."""


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids that a request can name."""

    document: str
    version: str
    chunk: str
    answer: str
    conversation: str
    member: str
    letter: str

    @classmethod
    def random(cls) -> "Ids":
        """Return ids of nothing."""
        return cls(*(str(uuid4()) for _ in range(7)))


ID_KINDS: Mapping[str, str] = {
    "document_id": "document",
    "version_id": "version",
    "chunk_id": "chunk",
    "answer_id": "answer",
    "conversation_id": "conversation",
    "user_id": "member",
    "grants": "member",
    "letter_id": "letter",
}
"""Name of a parameter or body field -> the kind of id that it takes."""

_PLAIN: Mapping[str, Any] = {
    "number": 1,
    "boxes": True,
    "limit": 5,
    "status": "ready",
    "name": "renamed.txt",
    "visibility": "restricted",
    "question": "What is written about lanterns?",
    "query": "lanterns",
    "mode": "auto",
    "use_cache": True,
    "role": "member",
    "embedder": "local",
}
_PLAIN_OF: Mapping[tuple[str, str], Any] = {("list_dead_letters", "status"): "all"}
"""Operation and name of a parameter that does not mean there what it means elsewhere."""
_OPTIONAL = frozenset({"cursor"})  # a position, not a right: lists are scoped whatever it says


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path.

    Attributes:
        parameters: Name -> place (`path`, `query`, `header`).
        fields: Names of the fields of the body.
        media_type: Of the body; empty without one.
    """

    name: str
    method: str
    path: str
    secured: bool
    parameters: Mapping[str, str]
    fields: frozenset[str]
    media_type: str

    @property
    def of_workspace(self) -> bool:
        """Whether it acts in the workspace of the header."""
        return WORKSPACE_HEADER in self.parameters

    def id_parameters(self) -> Iterator[tuple[str, str]]:
        """Yield name and place of each id that a request can carry."""
        for name, place in {**self.parameters, **dict.fromkeys(self.fields, "body")}.items():
            if name in ID_KINDS:
                yield name, place


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request, as keyword arguments of an httpx client."""

    method: str
    path: str
    arguments: Mapping[str, Any]


def operations(document: Mapping[str, Any]) -> tuple[Operation, ...]:
    """Return every operation of an OpenAPI document."""
    found = []
    for path, item in document["paths"].items():
        shared = {name: value for name, value in item.items() if name not in _METHODS}
        if shared:
            raise UnknownParameterError(f"{path} declares {sorted(shared)} for all of its methods")
        found += [_operation(document, path, method, declared) for method, declared in item.items()]
    return tuple(found)


def prepare(operation: Operation, ids: Ids, *, invitation: str = "") -> Prepared:
    """Return a request with these ids.

    Args:
        operation: What to call.
        ids: The ids that it names.
        invitation: Secret of an invitation, for the route that takes one.
    """
    path, query = operation.path, {}
    for name, place in operation.parameters.items():
        if place == "path":
            path = path.replace("{" + name + "}", str(_value(name, ids)))
        elif place == "query" and name not in _OPTIONAL:
            query[name] = _PLAIN_OF.get((operation.name, name)) or _value(name, ids)
        elif place not in {"query", "header"} or (place == "header" and name != WORKSPACE_HEADER):
            raise UnknownParameterError(f"{operation.name} takes {name} in {place}")
    return Prepared(operation.method, path, {"params": query, **_body(operation, ids, invitation)})


def swapped(ids: Ids, name: str, other: Ids) -> Ids:
    """Return the ids with that of one parameter taken from others."""
    kind = ID_KINDS[name]
    return replace(ids, **{kind: getattr(other, kind)})


def _operation(document: Mapping[str, Any], path: str, method: str, declared: Mapping[str, Any]) -> Operation:
    content = declared.get("requestBody", {}).get("content", {})
    media_type = next(iter(content), "")
    schema = _resolved(document, content[media_type]["schema"]) if media_type else {}
    return Operation(
        name=declared["operationId"],
        method=method.upper(),
        path=path,
        secured=bool(declared.get("security")),
        parameters={each["name"]: each["in"] for each in declared.get("parameters", ())},
        fields=frozenset(schema.get("properties", {})),
        media_type=media_type,
    )


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    found: Mapping[str, Any] = document["components"]["schemas"][reference.rsplit("/", 1)[-1]]
    return found


def _body(operation: Operation, ids: Ids, invitation: str) -> dict[str, Any]:
    if not operation.media_type:
        return {}
    if operation.media_type == "multipart/form-data":
        names = operation.fields - {"file"}
        fields = {name: _value(name, ids) for name in names if name != "name"}
        return {"files": {"file": ("lanterns.txt", b"Lanterns are lit at dusk.", "text/plain")}, "data": fields}
    members = {name: invitation or "none" if name == "token" else _value(name, ids) for name in operation.fields}
    if "grants" in members:
        members["grants"] = [members["grants"]]
    return {"json": members}


def _value(name: str, ids: Ids) -> Any:
    if kind := ID_KINDS.get(name):
        return getattr(ids, kind)
    if name not in _PLAIN:
        raise UnknownParameterError(f"say in adversarial/operations.py how to fill {name!r}")
    return _PLAIN[name]
