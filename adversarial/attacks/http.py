"""The protocol: headers of proxies, methods that pretend, paths that look alike, requests inside of requests."""

import re

from adversarial.cases import Family, case
from adversarial.replies import Breach, Reply
from adversarial.world import Actor, World, distinct

_EVIL = "evil.attacker.example"
_TRACE = re.compile(r"[0-9a-f]{32}")


def _request(world: World, line: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    host = {"Host": f"{world.service.host}:{world.service.port}", "Connection": "close"}
    lines = [line, *(f"{name}: {value}" for name, value in {**host, **headers}.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


async def _listed(actor: Actor, headers: dict[str, str]) -> Reply:
    return await actor.call("GET", "/v1/documents", headers=headers)


@case(Family.HTTP, "the Host header is never repeated or followed")
async def a_forged_host(world: World) -> str:
    """In answers, in redirects, in errors."""
    replies = []
    for path in ("/", "/v1/config", "/v1/documents/", "/v1/me/", "//v1/me", "/nowhere", "/v1/documents?limit=0"):
        for name in ("Host", "X-Forwarded-Host", "X-Host", "Forwarded"):
            value = f"host={_EVIL}" if name == "Forwarded" else _EVIL
            request = _request(world, f"GET {path} HTTP/1.1", {**world.attacker.headers(), name: value})
            replies.append((await world.raw(request)).without([_EVIL]))
    return f"{len(replies)} requests: {distinct(reply.status for reply in replies)}, the host nowhere"


@case(Family.HTTP, "headers of proxies change nothing about who asks and where")
async def forwarded_headers(world: World) -> str:
    """What a proxy in front would set, sent by a client."""
    plain = (await _listed(world.attacker, {})).expect(200)
    headers = (
        {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1", "Forwarded": "for=127.0.0.1"},
        {"X-Forwarded-User": world.victim.subject, "X-Remote-User": world.victim.subject, "Remote-User": "admin"},
        {
            "X-Original-URL": "/v1/me",
            "X-Rewrite-URL": "/v1/me",
            "X-Forwarded-Prefix": "/v1",
            "X-Forwarded-Proto": "https",
        },
        {"X-Forwarded-For": "a" * 5_000, "X-Forwarded-Port": "-1"},
    )
    for each in headers:
        if (await _listed(world.attacker, each)).expect(200).json() != plain.json():
            raise Breach(f"another answer with {sorted(each)}")
        (await world.send("GET", "/v1/me", headers=each)).expect(401)
    return f"{len(headers)} sets of headers: the same answer with a token, 401 without"


@case(Family.HTTP, "a request does what its own method says")
async def overridden_methods(world: World) -> str:
    """A reading request that claims to delete."""
    path = f"/v1/documents/{world.own.document_id}"
    for name in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method"):
        for method in ("GET", "POST"):
            (await world.attacker.call(method, path, headers={name: "DELETE"}, params={"_method": "DELETE"})).expect(
                200, 405
            )
    for method in ("TRACE", "CONNECT", "PROPFIND", "MOVE", "GeT", "X" * 2_000):
        reply = await world.raw(_request(world, f"{method} {path} HTTP/1.1", world.attacker.headers()))
        if reply.status < 400:  # noqa: PLR2004 (any success)
            raise Breach(f"{method[:10]} was answered with {reply.status}")
    (await world.attacker.call("GET", path)).expect(200)
    return "14 attempts; the document is still there"


@case(Family.HTTP, "refused, and the next request is served")
async def huge_headers(world: World) -> str:
    """One of a hundred kilobytes, thousands of small ones, an endless address."""
    requests = (
        _request(world, "GET /v1/me HTTP/1.1", {"X-Filler": "a" * 200_000}),
        _request(world, "GET /v1/me HTTP/1.1", {f"X-{number}": "a" for number in range(20_000)}),
        _request(world, f"GET /v1/me?{'a' * 200_000} HTTP/1.1", {}),
        _request(world, "GET /v1/me HTTP/1.1", {"Authorization": "Bearer " + "a" * 50_000}),
        _request(world, "GET /v1/me HTTP/1.1", {"Cookie": "a=b; " * 10_000}),
    )
    statuses = [(await world.raw(request)).status for request in requests]
    if any(status and not 400 <= status < 500 for status in statuses):  # noqa: PLR2004 (a refusal, or a closed line)
        raise Breach(f"answered with {statuses}")
    (await world.attacker.call("GET", "/v1/me")).expect(200)
    return f"{distinct(statuses)} (0: the connection was closed); the next request is served"


@case(Family.HTTP, "junk in trace headers is replaced, never repeated")
async def junk_in_trace_headers(world: World) -> str:
    """They end in logs and answers."""
    junk = (
        "00-zz", "a" * 1_000, "00-" + "0" * 32 + "-" + "0" * 16 + "-00", "ff-" + "a" * 32 + "-" + "b" * 16 + "-01",
        "'; DROP TABLE answers; --", "${jndi:ldap://x}", "<script>", "00-" + "A" * 32 + "-" + "b" * 16 + "-01", "\x01",
    )  # fmt: skip
    for value in junk:
        for name in ("traceparent", "X-Request-Id", "tracestate", "baggage", "X-Trace-Id", "X-Correlation-Id"):
            reply = await world.raw(_request(world, "GET /v1/nowhere HTTP/1.1", {name: value}))
            if reply.status == 400:  # noqa: PLR2004 (not a header at all)
                continue
            reply.expect(404).without([value] if len(value) > 2 else [])  # noqa: PLR2004 (a single sign is everywhere)
            if not _TRACE.fullmatch(reply.json()["trace_id"]):
                raise Breach(f"the trace id is {reply.json()['trace_id']!r}")
    return f"{len(junk)} values in 6 headers, none repeated"


@case(Family.HTTP, "JSON or events, whatever the client says that it accepts")
async def junk_in_negotiation_headers(world: World) -> str:
    """A page in HTML would be a place for markup."""
    values = ("text/html", "*/*;q=-1", "application/xml", "a" * 4_000, "text/event-stream,text/html", "\u00ff", "")
    for value in values:
        headers = {"Accept": value, "Accept-Language": value, "Accept-Encoding": value, "Range": "bytes=0-9999999999"}
        encoded = {name: content.encode("latin-1") for name, content in headers.items()}
        for path in ("/v1/documents", f"/v1/documents/{world.own.document_id}", "/v1/nowhere"):
            reply = await world.attacker.call("GET", path, headers=encoded)  # type: ignore[arg-type]  # bytes are fine
            reply.expect(200, 404)
            if not reply.header("content-type").startswith(("application/json", "application/problem+json")):
                raise Breach(f"answered as {reply.header('content-type')}")
    return f"{len(values)} values on 3 paths, all JSON"


@case(Family.HTTP, "no path around the check")
async def paths_that_look_alike(world: World) -> str:
    """Without a token, dressed as public or as another path."""
    paths = (
        "/healthz/../v1/me", "/v1/config/../me", "/v1/%6De", "/v1//me", "//v1/me", "/V1/ME", "/v1/me/", "/v1/me;a=b",
        "/v1/me%00",
        "/v1/me%2f", "/v1/.%2e/v1/me", "/v1/me?x=/healthz", "/v1/me#/healthz", "/v1\\me", "/v1/me/healthz", "/./v1/me",
        "/v1/documents/..;/config", "http://a/v1/me", "*", "/v1/openapi.json/../me",
    )  # fmt: skip
    statuses = []
    for path in paths:
        reply = await world.raw(_request(world, f"GET {path} HTTP/1.1", {}))
        statuses.append(reply.expect(307, 400, 401, 404, 405).status)
    return f"{len(paths)} paths: {distinct(statuses)}"


@case(Family.HTTP, "one request is one request: nothing is smuggled behind it")
async def requests_with_two_lengths(world: World) -> str:
    """Two parsers that disagree would take the rest of the body for a request of the next user."""
    hidden = _request(world, "GET /v1/config HTTP/1.1", {})
    bodies = (
        ({"Content-Length": "4", "Transfer-Encoding": "chunked"}, b"0\r\n\r\n" + hidden),
        ({"Content-Length": f"{len(hidden)}", "Transfer-Encoding": " chunked"}, b"0\r\n\r\n" + hidden),
        ({"Transfer-Encoding": "xchunked"}, b"0\r\n\r\n" + hidden),
        ({"Content-Length": "0, 10"}, hidden),
        ({"Content-Length": "+5"}, b"aaaaa" + hidden),
        ({"Content-Length": "-1"}, hidden),
        ({"Transfer-Encoding": "chunked"}, b"ffffffffffffffffff\r\n" + hidden),
    )
    statuses = []
    for headers, body in bodies:
        reply = await world.raw(_request(world, "POST /v1/ask HTTP/1.1", headers, body), seconds=2)
        if b"groundeddocs-web" in reply.body:
            raise Breach(f"a hidden request was answered behind {headers}")
        statuses.append(reply.status)
    return f"{len(bodies)} requests: {distinct(statuses)}, the hidden one never answered"


@case(Family.HTTP, "no other origin may read, no cookie is set, nothing tells what runs here")
async def headers_of_answers(world: World) -> str:
    """On successes and on every kind of error."""
    origin = {"Origin": f"https://{_EVIL}", "Access-Control-Request-Method": "DELETE"}
    preflight = await world.attacker.call("OPTIONS", "/v1/documents", headers=origin)
    replies = [preflight.expect(400, 405)]
    paths = ("/v1/documents", "/v1/nowhere", "/v1/documents/x", "/", "/healthz", "/v1/config", "/v1/openapi.json")
    replies += [await world.attacker.call("GET", path, headers=origin) for path in paths]
    replies.append(await world.send("GET", "/v1/me", headers=origin))
    for reply in replies:
        for name in ("access-control-allow-origin", "set-cookie", "server", "x-powered-by"):
            if reply.header(name):
                raise Breach(f"{reply.request} sent {name}: {reply.header(name)}")
        if reply.header("x-content-type-options") != "nosniff" or reply.header("cache-control") != "no-store":
            raise Breach(f"{reply.request} lacks protective headers")
        reply.without(["Traceback", "site-packages", "sqlalchemy", "psycopg"])
    return f"{len(replies)} answers, all closed"
