"""Ways into a workspace other than its membership, and ways to more rights inside of it."""

import asyncio
from dataclasses import replace
from hashlib import sha256
from uuid import uuid4

import sqlalchemy as sa

from adversarial.cases import Family, Sabotage, case
from adversarial.operations import WORKSPACE_HEADER, Ids, prepare
from adversarial.replies import Breach, Reply, same
from adversarial.world import Actor, World, distinct


async def _attempt(world: World, actor: Actor, name: str, ids: Ids) -> Reply:
    """Call one operation by its name, with these ids."""
    operation = next(each for each in world.operations if each.name == name)
    request = prepare(operation, ids)
    return await actor.call(request.method, request.path, **request.arguments)


def _workspace_operations(world: World) -> list[str]:
    return [operation.name for operation in world.operations if operation.of_workspace]


@case(Family.WORKSPACES, "400 without the header, on every route of a workspace")
async def no_workspace_header(world: World) -> str:
    """The only workspace of a user is not taken for granted."""
    names = _workspace_operations(world)
    for name in names:
        (await _attempt(world, world.attacker.inside(""), name, world.open.ids)).expect(400, 422).without(
            world.open.markers
        )
    return f"{len(names)} operations, all refused"


@case(Family.WORKSPACES, "400 when two workspaces are named, in either order")
async def two_workspace_headers(world: World) -> str:
    """One header for the check and another for the work."""
    own, foreign = world.attacker.workspace_id, world.victim.workspace_id
    token = world.attacker.headers()["Authorization"]
    pairs = ((own, foreign), (foreign, own), (own, own))
    for first, second in pairs:
        headers = [("Authorization", token), (WORKSPACE_HEADER, first), (WORKSPACE_HEADER.lower(), second)]
        (await world.send("GET", "/v1/documents", headers=headers)).expect(400).without(world.open.markers)
    joined = {"Authorization": token, WORKSPACE_HEADER: f"{own}, {foreign}"}
    (await world.send("GET", "/v1/documents", headers=joined)).expect(400).without(world.open.markers)
    return "4 combinations, all 400"


@case(Family.WORKSPACES, "400 or 403 for every spelling that is not an id")
async def malformed_workspace_headers(world: World) -> str:
    """Spellings that a lenient parser would take for the victim's workspace, or for none."""
    foreign = world.victim.workspace_id
    spellings = [
        "", "null", "*", "%", "0", "current", "default", "../" + foreign, foreign + "/", f"{{{foreign}}}",
        f"{foreign}%00",
        f"urn:uuid:{foreign}", foreign.replace("-", ""), foreign[:-1], foreign + "0", f'"{foreign}"', f"{foreign};",
        f"{foreign}' OR '1'='1", "00000000-0000-0000-0000-000000000000", foreign.upper(), "\u0660" * 8 + foreign[8:],
    ]  # fmt: skip
    replies = []
    for spelling in spellings:
        headers = {**world.attacker.headers(), WORKSPACE_HEADER: spelling.encode()}
        reply = await world.send("GET", "/v1/documents", headers=headers)
        replies.append(reply.expect(400, 403).without(world.open.markers[:2]))
    return f"{len(spellings)} spellings: {distinct(reply.status for reply in replies)}"


@case(Family.WORKSPACES, "the same 403 as for no such workspace, on every route", falls_to=Sabotage.NO_WALLS)
async def a_foreign_workspace_header(world: World) -> str:
    """The plain attack: another tenant's id in the header."""
    names = _workspace_operations(world)
    before = await world.snapshot(world.victim.workspace_id)
    for name in names:
        foreign = await _attempt(world, world.attacker.inside(world.victim.workspace_id), name, world.open.ids)
        nothing = await _attempt(world, world.attacker.inside(str(uuid4())), name, world.open.ids)
        same(foreign.expect(403).without(world.open.markers), nothing.expect(403))
    if await world.snapshot(world.victim.workspace_id) != before:
        raise Breach("rows of the victim changed")
    return f"{len(names)} operations, all 403 with equal answers; the victim's rows are unchanged"


@case(Family.WORKSPACES, "a workspace is named by its header only", falls_to=Sabotage.NO_WALLS)
async def a_foreign_workspace_elsewhere_in_the_request(world: World) -> str:
    """In the query, a cookie, look-alike headers, the body."""
    attacker, foreign = world.attacker, world.victim.workspace_id
    names = ("workspace_id", "workspace", "workspaceId", "X-Workspace-Id", "tenant_id", "org")
    replies = [await attacker.call("GET", "/v1/documents", params=dict.fromkeys(names, foreign))]
    lookalikes = (
        "X-Workspace",
        "Workspace-Id",
        "X-Tenant-Id",
        "X_Workspace_Id",
        "X-Workspace-Id-Override",
        "X-User-Id",
    )
    replies += [await attacker.call("GET", "/v1/documents", headers={name: foreign}) for name in lookalikes]
    cookie = {"Cookie": f"workspace_id={foreign}; X-Workspace-Id={foreign}"}
    replies.append(await attacker.call("GET", "/v1/documents", headers=cookie))
    for reply in replies:
        if world.own.document_id not in reply.expect(200).without(world.open.markers).text:
            raise Breach("the list is not that of the own workspace")
    for field in names:
        replies.append((await attacker.ask(world.open.question, **{field: foreign})).expect(422))
        body = {"query": "lanterns", field: foreign}
        replies.append((await attacker.call("POST", "/v1/search", json=body)).expect(422).without(world.open.markers))
    return f"{len(replies)} requests: own rows or a refusal"


@case(Family.WORKSPACES, "/v1/me tells of the caller's workspaces only")
async def the_list_of_workspaces(world: World) -> str:
    """What the start page shows."""
    me = (await world.attacker.call("GET", "/v1/me")).expect(200).without(world.open.markers).json()
    if [workspace["id"] for workspace in me["workspaces"]] != [world.attacker.workspace_id]:
        raise Breach("another list than the own workspace")
    return "one workspace, the own one"


@case(Family.WORKSPACES, "403 on the next request after a removal, for everything that was open before")
async def a_member_who_was_removed(world: World) -> str:
    """Tokens outlive memberships."""
    owner = await world.founder()
    document = await owner.publish("plan.txt", "The lantern code of the plan is seven.")
    member = await world.member_of(owner)
    answer = (await member.ask("What is the lantern code of the plan?")).expect(200).json()["id"]
    (await owner.call("DELETE", f"/v1/workspaces/current/members/{member.user_id}")).expect(204)
    nothing = Ids.random()
    ids = replace(
        nothing, document=document.document_id, version=document.version_id, answer=answer, member=owner.user_id
    )
    names = _workspace_operations(world)
    for name in names:
        (await _attempt(world, member, name, ids)).expect(403).without([document.document_id, "seven"])
    return f"{len(names)} operations, all 403"


@case(Family.WORKSPACES, "403: a member does nothing that takes an owner, not even for themself")
async def a_member_who_wants_to_be_owner(world: World) -> str:
    """Promotion, invitations, renaming, deletion, removal of others, other people's documents."""
    owner = await world.founder()
    document = await owner.publish("plan.txt", "The plan is public among members.")
    member = await world.member_of(owner)
    members = "/v1/workspaces/current/members"
    attempts = (
        ("PATCH", f"{members}/{member.user_id}", {"role": "owner"}),
        ("PATCH", f"{members}/{owner.user_id}", {"role": "member"}),
        ("DELETE", f"{members}/{owner.user_id}", None),
        ("POST", "/v1/workspaces/current/invitations", {"role": "owner"}),
        ("POST", "/v1/workspaces/current/invitations", {"role": "member"}),
        ("PATCH", "/v1/workspaces/current", {"name": "Mine"}),
        ("PATCH", "/v1/workspaces/current", {"embedder": "local"}),
        ("DELETE", "/v1/workspaces/current", None),
        ("DELETE", f"/v1/documents/{document.document_id}", None),
        ("PATCH", f"/v1/documents/{document.document_id}", {"visibility": "restricted"}),
        ("POST", f"/v1/documents/{document.document_id}/retry", None),
    )
    before = await world.snapshot(owner.workspace_id)
    for method, path, body in attempts:
        (await member.call(method, path, json=body)).expect(403)
    if await world.snapshot(owner.workspace_id) != before:
        raise Breach("a refused request changed something")
    return f"{len(attempts)} attempts, all 403, nothing changed"


@case(Family.WORKSPACES, "an invitation works once")
async def an_invitation_used_twice(world: World) -> str:
    """By another, by the same, and by five at once."""
    owner = await world.founder()
    token = await owner.invite()
    first, second = await world.newcomer(), await world.newcomer()
    (await first.call("POST", "/v1/invitations/accept", json={"token": token})).expect(200)
    for actor in (first, second):
        (await actor.call("POST", "/v1/invitations/accept", json={"token": token})).expect(404)
    again = await owner.invite()
    crowd = [await world.newcomer() for _ in range(5)]
    replies = await asyncio.gather(
        *(actor.call("POST", "/v1/invitations/accept", json={"token": again}) for actor in crowd)
    )
    statuses = sorted(reply.status for reply in replies)
    if statuses != [200, 404, 404, 404, 404]:
        raise Breach(f"five at once got {statuses}")
    return "404 at the second use; of five at once one got in"


@case(Family.WORKSPACES, "404 for every invitation that is not valid now, equal to an unknown one")
async def invitations_that_are_not_valid(world: World) -> str:
    """Too old, made by somebody who is no owner any more, forged, and what the database stores of one."""
    owner, actor = await world.founder(), await world.newcomer()
    old, stored, partner = await owner.invite(), await owner.invite(), await world.member_of(owner, "owner")
    orphan = await partner.invite("owner")
    (await owner.call("PATCH", f"/v1/workspaces/current/members/{partner.user_id}", json={"role": "member"})).expect(
        200
    )
    async with world.admin.begin() as connection:
        digest = sha256(old.encode()).hexdigest()
        age = "UPDATE invitations SET expires_at = now() - interval '1 second' WHERE token_sha256 = :digest"
        await connection.execute(sa.text(age), {"digest": digest})
    unknown = await actor.call("POST", "/v1/invitations/accept", json={"token": "unknown"})
    forged = (old, orphan, sha256(stored.encode()).hexdigest(), stored[:-1], stored.swapcase(), "%", "' OR true --")
    for token in forged:
        reply = await actor.call("POST", "/v1/invitations/accept", json={"token": token})
        same(reply.expect(404).without([owner.workspace_id]), unknown)
    extra = {"token": stored, "role": "owner", "workspace_id": world.victim.workspace_id}
    (await actor.call("POST", "/v1/invitations/accept", json=extra)).expect(422)
    return f"{len(forged)} invitations, all the same 404; a role in the body is refused"


@case(Family.WORKSPACES, "an invitation opens its own workspace, whatever the header says")
async def an_invitation_beside_a_foreign_header(world: World) -> str:
    """The header of the request names the victim's workspace."""
    owner, actor = await world.founder(), await world.newcomer()
    body = {"token": await owner.invite("owner")}
    joined = await actor.inside(world.victim.workspace_id).call("POST", "/v1/invitations/accept", json=body)
    if joined.expect(200).without(world.open.markers).json()["id"] != owner.workspace_id:
        raise Breach("the invitation opened another workspace")
    (await actor.inside(world.victim.workspace_id).call("GET", "/v1/documents")).expect(403)
    return "joined the workspace of the invitation; the victim's stays closed"


@case(Family.WORKSPACES, "409 for whoever would leave a workspace without an owner, also when two do so at once")
async def the_last_owner_leaves(world: World) -> str:
    """Leaving, demoting oneself, and two owners who leave at the same moment."""
    owner = await world.founder()
    path = "/v1/workspaces/current/members"
    (await owner.call("DELETE", f"{path}/{owner.user_id}")).expect(409)
    (await owner.call("PATCH", f"{path}/{owner.user_id}", json={"role": "member"})).expect(409)
    partner = await world.member_of(owner, "owner")
    replies = await asyncio.gather(
        *(actor.call("DELETE", f"{path}/{actor.user_id}") for actor in (owner, partner)),
    )
    statuses = sorted(reply.status for reply in replies)
    if statuses != [204, 409]:
        raise Breach(f"two owners who left at once got {statuses}")
    return "409 alone; of two at once one left"


@case(Family.WORKSPACES, "nothing is left to be reached after a workspace was deleted")
async def a_workspace_that_was_deleted(world: World) -> str:
    """Old ids, old invitations, old members."""
    owner = await world.founder()
    document = await owner.publish("plan.txt", "The plan is deleted soon.")
    token, member = await owner.invite(), await world.member_of(owner)
    (await owner.call("DELETE", "/v1/workspaces/current")).expect(200)
    for actor in (owner, member):
        (await actor.call("GET", f"/v1/documents/{document.document_id}")).expect(403)
    (await world.attacker.call("POST", "/v1/invitations/accept", json={"token": token})).expect(404)
    return "403 for its members, 404 for its invitation"


@case(Family.WORKSPACES, "a cursor is a position, not a right", falls_to=Sabotage.NO_WALLS)
async def cursors_of_another_workspace(world: World) -> str:
    """The victim's own cursors, and forged ones."""
    victim, attacker = world.victim, world.attacker
    seen = 0
    for path in ("/v1/documents", "/v1/workspaces/current/members"):
        cursor = (await victim.call("GET", path, params={"limit": 1})).expect(200).json()["next_cursor"]
        for forged in (cursor, "WyI5OTk5LTAxLTAxVDAwOjAwOjAwKzAwOjAwIiwi", "bnVsbA", "W10", "e30"):
            reply = await attacker.call("GET", path, params={"cursor": forged})
            reply.expect(200, 422).without(world.open.markers)
            seen += 1
    return f"{seen} cursors: own rows or a refusal"
