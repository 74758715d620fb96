"""Who belongs to a workspace, and which member somebody means."""

from collections.abc import Iterable, Mapping, Sequence

from app.cli.client import Api, Call, JsonObject
from app.cli.errors import CliError
from app.cli.ids import canonical

_LIST_LIMIT = 100


async def every_member(api: Api) -> list[JsonObject]:
    """Return all members of the workspace in order of joining."""
    return await api.every(Call("GET", "/v1/workspaces/current/members", params={"limit": _LIST_LIMIT}))


async def ids_of(api: Api, typed: Iterable[str]) -> frozenset[str]:
    """Return the ids of the members that were named by id or e-mail address; only addresses are looked up.

    Raises:
        CliError: An address is that of no member, or of several.
    """
    ids = {each: canonical(each) for each in typed}
    members = await every_member(api) if None in ids.values() else ()
    return frozenset(known or _id_of(each, members) for each, known in ids.items())


def described(user_ids: Iterable[str], members: Sequence[Mapping[str, object]]) -> str:
    """Return people in words: name and address as far as they are known, else the id."""
    known = {str(member["user_id"]): member for member in members}
    return ", ".join(_words(known.get(each, {}), each) for each in user_ids)


def _id_of(typed: str, members: Sequence[Mapping[str, object]]) -> str:
    wanted = typed.strip().casefold()
    fitting = [str(each["user_id"]) for each in members if str(each.get("email") or "").casefold() == wanted]
    if not fitting or not wanted:
        raise CliError(
            f"'{typed}' is not the e-mail address or id of a member; `groundeddocs workspaces members` lists them."
        )
    if len(fitting) > 1:
        ids = "\n".join(f"  {each}" for each in fitting)
        raise CliError(f"{len(fitting)} members have the address '{typed}'. Use the id of the one you mean:\n{ids}")
    return fitting[0]


def _words(member: Mapping[str, object], user_id: str) -> str:
    name, email = member.get("display_name"), member.get("email")
    return f"{name} <{email}>" if name and email else str(name or email or user_id)
