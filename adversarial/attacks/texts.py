"""Questions, names and bodies made of what breaks parsers, queries, logs and browsers."""

import json

from adversarial.attacks.orders import check_answer
from adversarial.cases import Family, case
from adversarial.replies import Breach
from adversarial.world import World, distinct, marker

_QUESTIONS = (
    "'", '"', "\\", ";--", "' OR '1'='1' --", "'); DROP TABLE documents; --", "1; SELECT pg_sleep(5)", ":*", "a:*",
    "&", "|",
    "!", "!!a", "a & | b", "(a", "a)", "<->", "a <-> b", "*", "%", "_", "\\x00", "$$", "%(workspace_id)s",
    ":workspace_id",
    ":workspace_id::uuid", "${jndi:ldap://x}", "{{7*7}}", "<script>alert(1)</script>", "\u202e", "\u200b", "\ufeff",
    "\U0001f4a9", "e\u0301" * 50, "a" * 4_000, "the of and", "?" * 3_000, "\n\n\n", "\t", "\x07\x1b[31m", "\x7f",
    "[]", "{}",
    "null", "<|endoftext|>", "[SEP][CLS][MASK]", "../../etc/passwd", "11.4.1" * 200, "T3410 " * 500,
    "\u0130\u0131" * 50,
    "\ufdfa" * 100, "\uffff", "\U0010ffff", "0" * 1_000, "-1", "1e999", "NaN",
)  # fmt: skip
_RAW_BODIES = (
    b'{"question": "\\u0000"}', b'{"question": "\\ud800"}', b'{"question": "\\udc00\\ud800 lanterns"}',
    b'{"question": "a", "question": "b"}', b'{"question": {"$ne": null}}', b'{"question": ["a"]}',
    b'{"question": 1e999}',
    b'{"question": "a", "__proto__": {}}', b'{"question": "' + b"a" * 200_000 + b'"}', b"[" * 50_000, b"\xff\xfe", b"",
    b'{"question": "a", "mode": "root"}', b'{"question": "a", "use_cache": "maybe"}', b"question=a", b"null",
    b'{"question": "a", "conversation_id": "\\u0000"}', b'{"question": "a", "conversation_id": "*"}',
)  # fmt: skip
_NAMES = (
    "../../../../etc/passwd", "..\\..\\windows\\system.ini", "/etc/shadow", "a/b/c.txt", "C:\\boot.ini", "name\x00.txt",
    "name\r\nSet-Cookie: a=b", "\u202etxt.exe", '"; filename="evil.html', "'; DROP TABLE documents; --.txt",
    "<img src=x>.txt",
    "%2e%2e%2f.txt", "a" * 255, "\u200b.txt", "CON", ".htaccess", "-rf.txt", "~root.txt", "$(id).txt", "`id`.txt",
    "a;b|c&d.txt",
)  # fmt: skip
_UNUSABLE_NAMES = ("", " ", ".", "..", "/", "\r\n", "\x00", "a" * 256, "../", "\u202e")


@case(Family.TEXTS, "an answer, an abstention or a typed refusal; never an error, never a foreign text")
async def hostile_questions(world: World) -> str:
    """To asking and to searching."""
    statuses = []
    for question in _QUESTIONS:
        for path, field in (("/v1/ask", "question"), ("/v1/search", "query")):
            reply = await world.attacker.call("POST", path, json={field: question})
            statuses.append(reply.expect(200, 422).without(world.open.markers).status)
    return f"{len(statuses)} requests: {distinct(statuses)}"


@case(Family.TEXTS, "200 or 4xx without what was sent")
async def hostile_bodies(world: World) -> str:
    """Broken JSON, wrong types, unknown and doubled fields, lone surrogates, NUL."""
    statuses = []
    for body in _RAW_BODIES:
        headers = {"Content-Type": "application/json"}
        reply = await world.attacker.call("POST", "/v1/ask", content=body, headers=headers)
        statuses.append(reply.expect(200, 400, 413, 422).without(world.open.markers).status)
    return f"{len(statuses)} bodies: {distinct(statuses)}"


@case(Family.TEXTS, "markup in a question comes back as JSON data only")
async def markup_in_a_question(world: World) -> str:
    """The question is repeated in the answer."""
    script = f"<script>{marker()}</script> When are lanterns lit?"
    reply = await world.attacker.ask(script)
    await check_answer(world, world.attacker, reply)
    events = await world.attacker.call(
        "POST", "/v1/ask", json={"question": f"lanterns\n\nevent: answer\ndata: {marker()}"},
        headers={"Accept": "text/event-stream"},
    )  # fmt: skip
    forged = [line for line in events.text.splitlines() if line.startswith("data: zq")]
    if forged or not events.header("content-type").startswith("text/event-stream"):
        raise Breach("a question made an event of its own")
    return "application/json with nosniff; a line break in a question makes no event"


@case(Family.TEXTS, "names lose folders and control characters, or are refused; a download is always an attachment")
async def hostile_names_of_documents(world: World) -> str:
    """Traversal, header injection, reversal, markup."""
    owner = await world.founder()
    kept = []
    for number, name in enumerate(_NAMES):
        sent = await owner.upload(name, f"Text number {number}.".encode())
        if sent.expect(202, 422).status == 422:  # noqa: PLR2004 (refused is as good)
            continue
        path = f"/v1/documents/{sent.json()['document_id']}"
        shown = (await owner.call("GET", path)).expect(200).json()["name"]
        if any(sign in shown for sign in "/\\\r\n\x00\u202e") or shown in {"", ".", ".."}:
            raise Breach(f"the name {shown!r} was kept")
        content = (await owner.call("GET", f"{path}/content")).expect(200)
        disposition = content.header("content-disposition")
        bare = disposition.removeprefix("attachment; filename*=UTF-8''")
        if bare == disposition or not bare.isascii() or set(bare) & set(" \";'\r\n<>/\\"):
            raise Breach(f"the header {disposition!r} was sent")
        if content.header("set-cookie"):
            raise Breach("a name made a header")
        kept.append(shown)
    for name in _UNUSABLE_NAMES:
        (await owner.upload(name, b"Text.")).expect(202, 422)
    refused = len(_NAMES) - len(kept)
    if refused > len(kept):
        raise Breach(f"{refused} of {len(_NAMES)} names were refused: the case shows little")
    return f"{len(kept)} names cleaned, {refused} refused; {len(_UNUSABLE_NAMES)} unusable ones refused or replaced"


@case(Family.TEXTS, "refused, or stored as plain data")
async def hostile_names_of_workspaces(world: World) -> str:
    """Shown to everybody who is invited."""
    actor, statuses = await world.newcomer(), []
    for name in (
        "a\nb",
        "\x00",
        "\u2028",
        " ",
        "a" * 101,
        "<script>x</script>",
        "{{7*7}}",
        "'; DROP TABLE workspaces; --",
    ):
        reply = await actor.call("POST", "/v1/workspaces", json={"name": name})
        statuses.append(reply.expect(201, 422).status)
        if "name" in reply.json() and reply.json()["name"] != name:
            raise Breach("a name came back changed")
    return f"{len(statuses)} names: {distinct(statuses)}"


@case(Family.TEXTS, "fields of the database cannot be set through a body")
async def fields_that_nobody_offers(world: World) -> str:
    """Mass assignment on what belongs to documents and members."""
    attacker, victim = world.attacker, world.victim
    smuggled = {
        "workspace_id": victim.workspace_id, "created_by": victim.user_id, "id": world.open.ids.document,
        "user_id": victim.user_id,
        "role": "owner", "status": "ready", "latest_version_id": world.open.ids.version, "content_sha256": "0" * 64,
    }  # fmt: skip
    routes = (
        ("PATCH", f"/v1/documents/{world.own.document_id}", {"name": "lanterns.txt"}),
        ("POST", "/v1/ask", {"question": "lanterns"}),
        ("POST", "/v1/search", {"query": "lanterns"}),
        ("POST", "/v1/workspaces", {"name": "a"}),
        ("PATCH", "/v1/workspaces/current", {"name": "a"}),
    )
    for method, path, body in routes:
        for field, value in smuggled.items():
            (await attacker.call(method, path, json={**body, field: value})).expect(422).without(world.open.markers[:2])
    files, names = {"file": ("a.txt", b"A text.", "text/plain")}, [*smuggled]
    for field in names:
        reply = await attacker.call("POST", "/v1/documents", files=files, data={field: smuggled[field]})
        reply.expect(422)
    return f"{len(routes) * len(smuggled) + len(names)} requests, all 422"


@case(Family.TEXTS, "the log holds no token, no question, no text and no name")
async def what_the_log_says(world: World) -> str:
    """All that was logged so far, and after this question."""
    question, word = f"When are lanterns lit {marker()}?", marker()
    await world.attacker.ask(question)
    token = world.service.issuer.token(world.attacker.subject)
    await world.send("GET", f"/v1/documents?cursor={word}", headers={"Authorization": f"Bearer {token}x"})
    await world.attacker.call("POST", "/v1/invitations/accept", json={"token": word})
    await world.attacker.publish(f"{word}.txt", f"A text with the word {word}.")
    log = world.log.getvalue()
    secret = [*world.open.markers[:2], *world.restricted.markers[:2], question, word, token, token.split(".")[2]]
    found = [text for text in secret if text in log]
    lines = [json.loads(line) for line in log.splitlines()]
    if found or not lines:
        raise Breach(f"the log of {len(lines)} lines holds {found}")
    return f"{len(lines)} lines of JSON, none of {len(secret)} secrets in them"
