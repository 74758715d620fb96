"""A restricted document, from the chair of a colleague who was not given it: it must not even be noticed."""

from uuid import uuid4

from adversarial.attacks.ids import call
from adversarial.cases import Family, Sabotage, case
from adversarial.operations import Ids, swapped
from adversarial.replies import Breach, Reply, same
from adversarial.world import Actor, World

_RULES = "Notes.\n\nThe lantern code of the attic is forty. The keeper of the attic is called Ida.\n"
_QUESTION = "What is the lantern code of the attic?"


async def _everything_listed(actor: Actor, **parameters: object) -> list[Reply]:
    """Walk through the whole list one by one, as its cursors lead."""
    replies: list[Reply] = []
    cursor = None
    while cursor or not replies:
        query = {"limit": 1, **parameters, **({"cursor": cursor} if cursor else {})}
        replies.append((await actor.call("GET", "/v1/documents", params=query)).expect(200))
        cursor = replies[-1].json()["next_cursor"]
    return replies


@case(Family.RESTRICTED, "absent from lists and from every page of them", falls_to=Sabotage.NO_RESTRICTIONS)
async def restricted_documents_in_lists(world: World) -> str:
    """Also when filtered by state, where a count or an empty page would tell."""
    seen = 0
    for parameters in ({}, {"status": "ready"}, {"status": "queued"}, {"status": "failed"}):
        for reply in await _everything_listed(world.colleague, **parameters):
            seen += len(reply.without(world.restricted.markers).json()["items"])
    if not seen:
        raise Breach("the colleague sees no document at all: the case shows nothing")
    return f"4 lists, {seen} items, none of them restricted"


@case(Family.RESTRICTED, "absent from search, by meaning, word, name and id", falls_to=Sabotage.NO_RESTRICTIONS)
async def restricted_documents_in_search(world: World) -> str:
    """The exact marked words are asked for."""
    queries = (world.restricted.question, *world.restricted.markers)
    for query in queries:
        (await world.colleague.search(query)).expect(200).without(world.restricted.markers)
    return f"{len(queries)} searches, nothing restricted"


@case(Family.RESTRICTED, "absent from answers, as JSON and as events", falls_to=Sabotage.NO_RESTRICTIONS)
async def restricted_documents_in_answers(world: World) -> str:
    """The question that its owner gets an answer to."""
    question = world.restricted.question
    whole = await world.colleague.ask(question)
    events = await world.colleague.call(
        "POST", "/v1/ask", json={"question": question}, headers={"Accept": "text/event-stream"}
    )
    for reply in (whole, events):
        reply.expect(200).without(world.restricted.markers)
    return f"{whole.json()['status']}, without anything restricted"


@case(Family.RESTRICTED, "the same refusal as for an id of nothing, on every route", falls_to=Sabotage.NO_RESTRICTIONS)
async def restricted_ids_on_every_route(world: World) -> str:
    """404 for reading, changing, trying again, deleting, watching; 403 where only owners may ask at all."""
    tried, secrets = 0, world.restricted
    before = await world.snapshot(world.victim.workspace_id)
    for operation in world.operations:
        for name, place in operation.id_parameters():
            if place == "body" or name == "user_id":
                continue
            hidden = await call(world.colleague, operation, swapped(Ids.random(), name, secrets.ids))
            nothing = await call(world.colleague, operation, Ids.random())
            same(hidden.expect(403, 404).without(secrets.markers), nothing)
            together = await call(world.colleague, operation, secrets.ids)
            together.expect(hidden.status).without(secrets.markers)
            tried += 1
    if await world.snapshot(world.victim.workspace_id) != before:
        raise Breach("a refused request changed something")
    return f"{tried} ids, all answered as ids of nothing; nothing changed"


@case(Family.RESTRICTED, "the same bytes or the same name give no sign of a hidden document",
      falls_to=Sabotage.NO_RESTRICTIONS)  # fmt: skip
async def uploads_beside_a_restricted_document(world: World) -> str:
    """Outcomes and name clashes are answers too."""
    owner = await world.founder()
    member = await world.member_of(owner)
    hidden = await owner.publish("attic.txt", _RULES, "restricted")
    outcomes = []
    for name, visibility, text in (
        ("attic.txt", "workspace", "Another text about the attic."),
        ("attic.txt", "restricted", "A third text about the attic."),
        ("copy.txt", "workspace", _RULES),
    ):
        reply = (await member.upload(name, text.encode(), visibility)).expect(202).without([hidden.document_id])
        outcomes.append(reply.without([hidden.version_id]).json()["outcome"])
    if set(outcomes) != {"created"}:
        raise Breach(f"outcomes tell of a hidden document: {outcomes}")
    other = await member.upload("renamed.txt", b"A fourth text.", "restricted")
    path = f"/v1/documents/{other.json()['document_id']}"
    (await member.call("PATCH", path, json={"name": "attic.txt"})).expect(200, 409)
    return "three uploads, all `created`"


@case(Family.RESTRICTED, "a workspace that holds hidden documents only is empty", falls_to=Sabotage.NO_RESTRICTIONS)
async def counts_beside_a_restricted_document(world: World) -> str:
    """The reason of an abstention is an answer too."""
    owner = await world.founder()
    member = await world.member_of(owner)
    empty = await world.member_of(await world.founder())
    hidden = await owner.publish("attic.txt", _RULES, "restricted")
    reply = (await member.ask(_QUESTION)).expect(200).without([hidden.document_id])
    reasons = {reply.json()["reason"], (await empty.ask(_QUESTION)).expect(200).json()["reason"]}
    if reasons != {"no_documents"}:
        raise Breach(f"an abstention tells of a hidden document: {reasons}")
    await owner.upload("attic2.txt", b"Another text, not processed yet.", "restricted")
    if (await member.ask(_QUESTION)).json()["reason"] != "no_documents":
        raise Breach("a hidden document on its way is noticed")
    return "no_documents, with a hidden one that is ready and one on its way"


@case(Family.RESTRICTED, "ownership of the workspace is no right to read")
async def an_owner_without_a_grant(world: World) -> str:
    """What a member keeps for themself."""
    owner = await world.founder()
    member = await world.member_of(owner)
    hidden = await member.publish("attic.txt", _RULES, "restricted")
    path = f"/v1/documents/{hidden.document_id}"
    for method, suffix in (("GET", ""), ("GET", "/content"), ("GET", "/pages/1"), ("DELETE", ""), ("GET", "/events")):
        (await owner.call(method, path + suffix)).expect(404).without(["attic", "forty"])
    (await owner.call("PATCH", path, json={"grants": [owner.user_id]})).expect(404)
    (await owner.ask(_QUESTION)).expect(200).without([hidden.document_id, "forty"])
    return "6 requests, all 404; the answer is an abstention"


@case(Family.RESTRICTED, "what was granted ends when the grant does, in old answers too")
async def a_grant_that_was_taken_back(world: World) -> str:
    """The answer was given while it was allowed."""
    owner = await world.founder()
    member = await world.member_of(owner)
    hidden = await owner.publish("attic.txt", _RULES, "restricted")
    path = f"/v1/documents/{hidden.document_id}"
    (await owner.call("PATCH", path, json={"grants": [member.user_id]})).expect(200)
    answer = (await member.ask(_QUESTION)).expect(200).json()
    if not answer["claims"]:
        raise Breach("the grant gave nothing: the case shows nothing")
    (await owner.call("PATCH", path, json={"grants": []})).expect(200)
    chunk = answer["claims"][0]["citations"][0]["chunk_id"]
    (await member.call("GET", path)).expect(404)
    (await member.call("GET", f"/v1/chunks/{chunk}")).expect(404)
    for path in (f"/v1/answers/{answer['id']}", f"/v1/answers/{answer['id']}/explain"):
        (await member.call("GET", path)).expect(200, 404).without(["forty", "attic.txt", chunk, hidden.document_id])
    (await member.ask(_QUESTION)).expect(200).without(["forty", hidden.document_id])
    return "404 for document and chunk; the old answer lost its claim, its explanation the passage"


@case(Family.RESTRICTED, "grants end with the membership: they do not wait for a return")
async def a_grant_after_leaving_and_coming_back(world: World) -> str:
    """Removed and invited again."""
    owner = await world.founder()
    member = await world.member_of(owner)
    hidden = await owner.publish("attic.txt", _RULES, "restricted")
    path = f"/v1/documents/{hidden.document_id}"
    (await owner.call("PATCH", path, json={"grants": [member.user_id]})).expect(200)
    (await member.call("GET", path)).expect(200)
    (await owner.call("DELETE", f"/v1/workspaces/current/members/{member.user_id}")).expect(204)
    (await member.call("GET", path)).expect(403)
    (await member.call("POST", "/v1/invitations/accept", json={"token": await owner.invite()})).expect(200)
    nothing = await member.call("GET", f"/v1/documents/{uuid4()}")
    same((await member.call("GET", path)).expect(404), nothing)
    return "readable, 403, and 404 after coming back"
