"""What came back, whole: every check for a leak looks at all of it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import httpx

# These differ between two equal answers.
_OF_THE_MOMENT = frozenset({"date", "x-request-id"})
_MOMENT_MEMBERS = frozenset({"trace_id", "id"})


class Breach(Exception):  # noqa: N818 (the fact that a case looks for)
    """The service gave way; the text says how."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A response, read to its end.

    Attributes:
        headers: Names in lower case, in the order of arrival.
    """

    request: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @classmethod
    def of(cls, response: httpx.Response) -> "Reply":
        """Read a response of httpx."""
        request = f"{response.request.method} {response.request.url.path}"
        headers = tuple((name.lower(), value) for name, value in response.headers.multi_items())
        return cls(request, response.status_code, headers, response.content)

    @property
    def text(self) -> str:
        """Everything that came back, in one text: status, headers, body, and the body with its escapes undone."""
        body = self.body.decode("utf-8", "replace")
        lines = [str(self.status), *(f"{name}: {value}" for name, value in self.headers), body]
        return "\n".join([*lines, _unescaped(body)])

    def json(self) -> Any:
        """Return the body as JSON; a body that is none is a breach of the contract."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise Breach(f"{self.request} answered {self.status} without JSON") from error

    def header(self, name: str) -> str:
        """Return the values of a header, joined."""
        return ", ".join(value for known, value in self.headers if known == name)

    def comparable(self) -> tuple[int, tuple[tuple[str, str], ...], object]:
        """Return all but what differs between any two responses: moment, request id and trace id."""
        headers = tuple(sorted(pair for pair in self.headers if pair[0] not in _OF_THE_MOMENT))
        return self.status, headers, _without_moment(self.body)

    def expect(self, *statuses: int) -> "Reply":
        """Return the reply; a status other than these is a breach, and so is a defect of the service."""
        if self.status not in statuses:
            raise Breach(f"{self.request} answered {self.status} instead of {'/'.join(map(str, statuses))}")
        return self

    def without(self, markers: Iterable[str]) -> "Reply":
        """Return the reply; a marker anywhere in it is a breach."""
        text = self.text.lower()
        for marker in markers:
            if marker.lower() in text:
                raise Breach(f"{self.request} answered {self.status} with the foreign text {marker!r}")
        return self


def same(first: Reply, second: Reply) -> None:
    """Tell two replies apart: a difference is a breach."""
    if first.comparable() != second.comparable():
        raise Breach(f"{first.request} differs: {first.comparable()} is not {second.comparable()}"[:600])


def _unescaped(body: str) -> str:
    try:
        return json.dumps(json.loads(body), ensure_ascii=False)
    except (ValueError, RecursionError):
        return ""


def _without_moment(body: bytes) -> object:
    try:
        value = json.loads(body)
    except ValueError:
        return body
    if isinstance(value, dict):
        return {name: member for name, member in value.items() if name not in _MOMENT_MEMBERS}
    return value
