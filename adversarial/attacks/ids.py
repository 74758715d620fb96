"""Ids of another tenant, on every route that takes one."""

from dataclasses import replace
from uuid import uuid4

from adversarial.cases import Family, Sabotage, case
from adversarial.operations import ID_KINDS, Ids, Operation, prepare, swapped
from adversarial.replies import Breach, Reply, same
from adversarial.world import Actor, Secrets, World, distinct


async def call(actor: Actor, operation: Operation, ids: Ids) -> Reply:
    """Call an operation with these ids."""
    request = prepare(operation, ids)
    return await actor.call(request.method, request.path, **request.arguments)


def own_ids(world: World, actor: Actor) -> Ids:
    """Return ids that exist for the attacker as far as there are any."""
    nothing = Ids.random()
    own = world.own
    return replace(nothing, document=own.document_id, version=own.version_id, member=actor.user_id)


async def every_operation(world: World, actor: Actor, secrets: Secrets) -> int:
    """Try each id of the secrets on each route: the answer must be that for an id of nothing.

    Ids in a path or a query must end in 404; one in a body may be refused otherwise, but must make no difference.
    """
    tried = 0
    for operation in (each for each in world.operations if each.of_workspace):
        for name, place in operation.id_parameters():
            foreign = await call(actor, operation, swapped(Ids.random(), name, secrets.ids))
            nothing = await call(actor, operation, Ids.random())
            same(foreign.without(secrets.markers), nothing)
            if place != "body":
                foreign.expect(404, 403)
            tried += 1
    return tried


@case(Family.IDS, "the same 404 as for an id of nothing, on every route; nothing of the victim changes",
      falls_to=Sabotage.NO_WALLS)  # fmt: skip
async def each_foreign_id_on_each_route(world: World) -> str:
    """Made from the OpenAPI document."""
    before = await world.snapshot(world.victim.workspace_id)
    tried = await every_operation(world, world.attacker, world.open)
    if await world.snapshot(world.victim.workspace_id) != before:
        raise Breach("rows of the victim changed")
    return f"{tried} ids tried, all answered as ids of nothing; the victim's rows are unchanged"


@case(Family.IDS, "404 when all ids are the victim's at once", falls_to=Sabotage.NO_WALLS)
async def all_foreign_ids_at_once(world: World) -> str:
    """Ids that belong together, as a client of the victim would send them."""
    seen = []
    for operation in world.operations:
        places = dict(operation.id_parameters())
        if operation.of_workspace and "path" in places.values() and "user_id" not in places:
            seen.append((await call(world.attacker, operation, world.open.ids)).expect(404).without(world.open.markers))
    return f"{len(seen)} operations: {distinct(reply.status for reply in seen)}"


@case(Family.IDS, "404: a version is found through its own document only", falls_to=Sabotage.NO_WALLS)
async def an_own_document_with_a_foreign_version(world: World) -> str:
    """The outer id passes the check, the inner one is another tenant's; and the other way round."""
    own, foreign, attacker = world.own, world.open.ids, world.attacker
    second = await attacker.publish("second.txt", "A second text about lanterns.")
    pairs = (
        (own.document_id, foreign.version),
        (foreign.document, own.version_id),
        (foreign.document, foreign.version),
        (own.document_id, second.version_id),
    )
    for document, version in pairs:
        for path in ("content", "pages/1"):
            reply = await attacker.call("GET", f"/v1/documents/{document}/{path}", params={"version_id": version})
            nothing = await attacker.call("GET", f"/v1/documents/{uuid4()}/{path}", params={"version_id": str(uuid4())})
            same(reply.expect(404).without(world.open.markers), nothing)
    return f"{len(pairs)} pairs on 2 routes, all 404"


@case(Family.IDS, "no spelling of a foreign id or path finds anything")
async def spellings_of_foreign_ids(world: World) -> str:
    """Case, braces, encodings, dots, doubled slashes, parameters in the path."""
    attacker, document, own = world.attacker, world.open.ids.document, world.own.document_id
    spellings = [
        document.upper(), f"%7B{document}%7D", f"urn:uuid:{document}", document.replace("-", ""), f"{document}%20",
        f"{document}%00", f"{document}.json", f"{document};v=1", f"{document}%2Fcontent", f"{own}/../{document}",
        f"{own}%2F..%2F{document}", f"{own},{document}", f"../documents/{document}", f"/{document}", f"./{document}",
        f"*?id={document}", f"{own}?document_id={document}", f"{own}?id={document}", f"{document}%E2%80%8B",
    ]  # fmt: skip
    replies = []
    for spelling in spellings:
        reply = await world.raw(_get(world, attacker, f"/v1/documents/{spelling}"))
        replies.append(reply.expect(200, 307, 400, 404, 405, 422).without(world.open.markers[:2]))
        if reply.status < 300 and own not in reply.text:  # noqa: PLR2004 (any success)
            raise Breach(f"{spelling} found something that is not the own document")
    return f"{len(spellings)} spellings: {distinct(reply.status for reply in replies)}, the victim's never"


def _get(world: World, actor: Actor, path: str) -> bytes:
    host = f"{world.service.host}:{world.service.port}"
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in actor.headers().items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@case(Family.IDS, "strangers cannot be named as readers, and nobody learns whether they exist")
async def grants_to_users_of_other_workspaces(world: World) -> str:
    """A grant to the victim, to nobody, and to a former member."""
    owner = await world.founder()
    document = await owner.publish("plan.txt", "The plan is for few.", "restricted")
    former = await world.member_of(owner)
    (await owner.call("DELETE", f"/v1/workspaces/current/members/{former.user_id}")).expect(204)
    path = f"/v1/documents/{document.document_id}"
    nobody = await owner.call("PATCH", path, json={"grants": [str(uuid4())]})
    for user in (world.victim.user_id, former.user_id):
        reply = await owner.call("PATCH", path, json={"grants": [user]})
        same(reply.expect(404, 409, 422).without(world.open.markers), nobody)
    return f"{nobody.status} for a stranger, a former member and nobody alike"


@case(Family.IDS, "a conversation of another user is not found, one of another workspace is a new one")
async def conversations_of_others(world: World) -> str:
    """Its id is chosen by clients: knowing it must be worth nothing."""
    conversation = world.open.ids.conversation
    before = await world.snapshot(world.victim.workspace_id)
    (await world.attacker.ask("When are lanterns lit?", conversation_id=conversation)).expect(200).without(
        world.open.markers[:2]
    )
    reply = await world.colleague.ask(world.open.question, conversation_id=conversation)
    reply.expect(404).without(world.open.markers)
    if await world.snapshot(world.victim.workspace_id) != before:
        raise Breach("the victim's conversation changed")
    return "200 with own documents in the own workspace, 404 inside the victim's; the victim's rows are unchanged"


@case(Family.IDS, "404: an answer belongs to its asker, even among members")
async def answers_of_a_colleague(world: World) -> str:
    """Both may read the document; the question was not theirs."""
    for suffix in ("", "/explain"):
        theirs = await world.colleague.call("GET", f"/v1/answers/{world.open.ids.answer}{suffix}")
        nothing = await world.colleague.call("GET", f"/v1/answers/{uuid4()}{suffix}")
        same(theirs.expect(404).without(world.open.markers), nothing)
    return "the same 404 as for an answer of nothing, also for its explanation"


@case(Family.IDS, "equal bytes in two workspaces stay two documents: neither is seen, changed or deleted by the other")
async def the_same_bytes_as_the_victim(world: World) -> str:
    """The attacker knows the file. Ids of chunks follow from bytes, so they meet on purpose."""
    victim, attacker = await world.founder("owner"), await world.founder("copier")
    text, question = "The old pier was closed in 1987 for repairs.", "When was the old pier closed?"
    theirs, ours = await victim.publish("pier.txt", text), await attacker.publish("copy.txt", text)
    if ours.outcome != "created":
        raise Breach(f"the outcome of the upload tells of the other workspace: {ours.outcome}")
    markers = (theirs.document_id, theirs.version_id, victim.workspace_id, victim.user_id, "pier.txt")
    citation = (await victim.ask(question)).expect(200).json()["claims"][0]["citations"][0]
    chunk = await attacker.call("GET", f"/v1/chunks/{citation['chunk_id']}")
    found = (chunk, await attacker.search(question), await attacker.ask(question))
    for reply in found:
        if ours.document_id not in reply.expect(200).without(markers).text:
            raise Breach("the own copy is not found")
    (await attacker.call("DELETE", f"/v1/documents/{ours.document_id}")).expect(200).without(markers)
    (await attacker.call("GET", f"/v1/chunks/{citation['chunk_id']}")).expect(404)
    (await victim.call("GET", f"/v1/chunks/{citation['chunk_id']}")).expect(200)
    content = await victim.call("GET", f"/v1/documents/{theirs.document_id}/content")
    if content.expect(200).body != text.encode():
        raise Breach("the other's file is gone")
    return "created apart, found apart, deleted apart"


@case(Family.IDS, "streams are checked like what is not streamed: a status, not an event")
async def streams_with_foreign_ids(world: World) -> str:
    """The variant that is easily forgotten."""
    attacker, ids = world.attacker, world.open.ids
    accept = {"Accept": "text/event-stream"}
    watched = await attacker.call("GET", f"/v1/documents/{ids.document}/events", headers=accept)
    watched.expect(404).without(world.open.markers)
    body = {"question": world.open.question, "conversation_id": ids.conversation}
    (await world.colleague.call("POST", "/v1/ask", json=body, headers=accept)).expect(404).without(world.open.markers)
    asked = await attacker.call("POST", "/v1/ask", json={"question": world.open.question}, headers=accept)
    asked.expect(200).without(world.open.markers)
    return "404, 404, and an answer from own documents"


@case(Family.IDS, "every kind of id is tried somewhere")
async def no_kind_of_id_is_forgotten(world: World) -> str:
    """The suite itself: a kind that no route takes would never be attacked."""
    tried = {ID_KINDS[name] for operation in world.operations for name, _ in operation.id_parameters()}
    missing = set(ID_KINDS.values()) - tried
    if missing:
        raise Breach(f"no route takes {missing}")
    return f"{len(tried)} kinds: {', '.join(sorted(tried))}"
