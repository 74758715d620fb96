"""Files that lie about what they are, where they belong, or how large they are."""

import io
import zipfile
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

from adversarial.cases import Family, case
from adversarial.environment import UPLOAD_LIMIT
from adversarial.replies import Breach, Reply
from adversarial.world import Actor, World, distinct

_BOUNDARY = "zqboundary"
_PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R{catalog}>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj\n"
    b"4 0 obj<</Length {length}{filter}>>stream\n{stream}\nendstream endobj\n"
    b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
)
_SENTENCE = b"BT /F1 12 Tf 20 200 Td (The quarry was closed in 1954 by the council.) Tj ET"


def _pdf(stream: bytes = _SENTENCE, *, compressed: bool = False, catalog: bytes = b"") -> bytes:
    """Return a small PDF of one page."""
    stored = zlib.compress(stream, 9) if compressed else stream
    parts = {b"{catalog}": catalog, b"{length}": str(len(stored)).encode(), b"{stream}": stored}
    parts[b"{filter}"] = b"/Filter/FlateDecode" if compressed else b""
    made = _PDF
    for name, value in parts.items():
        made = made.replace(name, value)
    return made


def _form(*parts: bytes) -> bytes:
    edge = f"--{_BOUNDARY}\r\n".encode()
    return b"".join(edge + part + b"\r\n" for part in parts) + f"--{_BOUNDARY}--\r\n".encode()


def _part(disposition: str, body: bytes = b"A text.") -> bytes:
    return f"Content-Disposition: form-data; {disposition}\r\n\r\n".encode() + body


async def _post_form(actor: Actor, body: bytes, content_type: str = "") -> Reply:
    headers = {"Content-Type": content_type or f"multipart/form-data; boundary={_BOUNDARY}"}
    return await actor.call("POST", "/v1/documents", content=body, headers=headers)


async def _state(actor: Actor, document_id: str) -> tuple[str, str | None]:
    document = (await actor.call("GET", f"/v1/documents/{document_id}")).expect(200).json()
    return document["status"], document["reason"]


@case(Family.UPLOADS, "415: the content decides, not the name")
async def files_that_are_not_what_they_say(world: World) -> str:
    """Archives, programs and pictures under innocent names."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("zeros", bytes(20 * 1024 * 1024))
    files = {
        "bomb.pdf": archive.getvalue(),
        "program.txt": b"\x7fELF\x02\x01\x01" + bytes(200),
        "program.md": b"MZ\x90\x00\x03" + bytes(500),
        "picture.txt": b"\x89PNG\r\n\x1a\n" + bytes(64),
        "zeros.pdf": zlib.compress(bytes(10**6)),
        "archive.txt": b"\x1f\x8b\x08" + bytes(100),
        "office.txt": b"{\\rtf1 x}",
        "print.txt": b"%!PS-Adobe",
    }
    for name, data in files.items():
        (await world.attacker.upload(name, data)).expect(415)
    return f"{len(files)} files, all 415"


@case(Family.UPLOADS, "a web page under another name is read as one, and sent as an attachment that nothing runs")
async def web_pages_under_other_names(world: World) -> str:
    """Its script is neither text of it nor run."""
    owner = await world.founder()
    page = b"<!DOCTYPE html><script>alert(1)</script><p>The quarry was closed in 1954.</p>"
    names = ("report.pdf", "report.pdf.html", "report.txt")
    for place, name in enumerate(names):
        published = await owner.publish(name, page + f"<p>Copy {place}.</p>".encode())
        if await _state(owner, published.document_id) != ("ready", None):
            raise Breach(f"{name} was not read")
        content = (await owner.call("GET", f"/v1/documents/{published.document_id}/content")).expect(200)
        if not content.header("content-disposition").startswith("attachment;"):
            raise Breach(f"{name} is sent to be shown")
        if content.header("x-content-type-options") != "nosniff" or "default-src 'none'" not in content.header(
            "content-security-policy"
        ):
            raise Breach(f"{name} may run in a browser")
        text = (await owner.call("GET", f"/v1/documents/{published.document_id}/pages/1")).expect(200)
        text.without(("alert",))
    return f"{len(names)} names, all attachments"


@case(Family.UPLOADS, "a file of two types is sent as an attachment that no browser renders")
async def a_pdf_that_is_a_web_page_too(world: World) -> str:
    """The PDF header stands behind HTML, as readers allow."""
    owner = await world.founder()
    page = b"<!-- <html><script>alert(1)</script> -->\n" + _pdf()
    sent = (await owner.upload("page.html", page)).expect(202).json()
    content = await owner.call("GET", f"/v1/documents/{sent['document_id']}/content")
    content.expect(200)
    sandbox = content.header("content-security-policy").startswith("default-src 'none'")
    disposition = content.header("content-disposition").startswith("attachment;")
    if content.header("content-type") != "application/pdf" or not (sandbox and disposition):
        raise Breach(f"sent as {content.header('content-type')}, {content.header('content-disposition')}")
    if content.header("x-content-type-options") != "nosniff":
        raise Breach("a browser may guess the type")
    return "application/pdf, attachment, nosniff, closed content policy"


@case(Family.UPLOADS, "a file that swells ends with a typed reason, and the next one is read")
async def a_pdf_that_swells(world: World) -> str:
    """A few kilobytes that decompress to hundreds of megabytes of text operators."""
    owner = await world.founder()
    swollen = b"BT /F1 12 Tf " + b"(The quarry was closed in 1954 by the council.) Tj " * 4_000_000 + b"ET"
    published = await owner.publish("swollen.pdf", _pdf(swollen, compressed=True))
    state = await _state(owner, published.document_id)
    if state[0] not in {"ready", "failed"} or (state[0] == "failed" and not state[1]):
        raise Breach(f"it ended as {state}")
    after = await owner.publish("after.pdf", _pdf())
    if await _state(owner, after.document_id) != ("ready", None):
        raise Breach("the next file was not read")
    return f"{' '.join(str(part) for part in state)}; the next file is ready"


@case(Family.UPLOADS, "actions, scripts and addresses in a PDF are not followed, and broken ones end typed")
async def pdfs_with_actions_and_broken_ones(world: World) -> str:
    """Open actions, embedded JavaScript, loops of pages, truncation."""
    owner = await world.founder()
    uri = b"/OpenAction<</S/URI/URI(https://collect.attacker.example)>>/AA<</O<</S/JavaScript/JS(app.alert\\(1\\))>>>>"
    launch = b"/OpenAction<</S/Launch/F(/bin/sh)>>/Names<</EmbeddedFiles<</Names[(a)2 0 R]>>>>"
    files = {
        "uri.pdf": _pdf(catalog=uri),
        "launch.pdf": _pdf(catalog=launch),
        "loop.pdf": _pdf().replace(b"/Kids[3 0 R]/Count 1", b"/Kids[2 0 R 2 0 R]/Count 99999999"),
        "cut.pdf": _pdf()[:120],
        "head.pdf": b"%PDF-1.7\n",
        "noise.pdf": b"%PDF-1.7\n" + bytes(range(256)) * 200,
        "length.pdf": _pdf().replace(b"/Length ", b"/Length 99999999"),
    }
    ends = []
    for name, data in files.items():
        state = await _state(owner, (await owner.publish(name, data)).document_id)
        if state[0] not in {"ready", "failed"} or (state[0] == "failed" and not state[1]):
            raise Breach(f"{name} ended as {state}")
        ends.append(f"{name} {state[1] or state[0]}")
    return ", ".join(ends)


@case(Family.UPLOADS, "bytes are stored under names of ours, inside of the store")
async def where_uploaded_bytes_go(world: World) -> str:
    """Names that point elsewhere."""
    owner = await world.founder()
    for name in (
        "../../escape.txt",
        "/escape.txt",
        "..%2f..%2fescape.txt",
        f"{world.victim.workspace_id}/escape.txt",
    ):
        (await owner.upload(name, f"A text called {name}.".encode())).expect(202)
    root = world.service.services.settings.blob_path
    files = [path for path in root.rglob("*") if path.is_file()]
    strange = [path for path in files if not _is_ours(path.relative_to(root))]
    mine = [path for path in files if path.relative_to(root).parts[0] == owner.workspace_id]
    if strange or len(mine) != 4:  # noqa: PLR2004 (the four above)
        raise Breach(f"stored as {[str(path.relative_to(root)) for path in strange]}, {len(mine)} of 4 at their place")
    return f"{len(files)} files, all stored as workspace/random id"


def _is_ours(path: Path) -> bool:
    try:
        return [str(UUID(part)) for part in path.parts] == list(path.parts) and len(path.parts) == 2  # noqa: PLR2004
    except ValueError:
        return False


@case(Family.UPLOADS, "413, however the length is declared")
async def files_that_are_too_large(world: World) -> str:
    """Declared, not declared, declared wrongly; and on a route that takes no file."""
    large = bytes(UPLOAD_LIMIT + 2 * 1024 * 1024)
    attacker = world.attacker
    declared = await attacker.upload("large.txt", large)

    async def chunks(first: bytes, piece: bytes) -> AsyncIterator[bytes]:
        yield first
        for _ in range(len(large) // len(piece)):
            yield piece

    start = f"--{_BOUNDARY}\r\n".encode() + _part('name="file"; filename="large.txt"')
    headers = {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"}
    streamed = await attacker.call("POST", "/v1/documents", content=chunks(start, b"a" * 65_536), headers=headers)
    body = {"Content-Type": "application/json"}
    question = await attacker.call("POST", "/v1/ask", content=chunks(b"{", b" " * 65_536), headers=body)
    barely = await attacker.upload("barely.txt", b"a" * (UPLOAD_LIMIT + 1))
    for reply in (declared, streamed, question, barely):
        reply.expect(413)
    lying = await world.raw(
        f"POST /v1/documents HTTP/1.1\r\nHost: a\r\nContent-Length: {10**12}\r\n\r\n".encode(), seconds=3
    )
    lying.expect(413)
    return "declared, streamed, one byte too much, a terabyte declared, and a question: all 413"


@case(Family.UPLOADS, "a form that is not one file with a name is refused without filling memory")
async def forms_that_are_odd(world: World) -> str:
    """No file name, thousands of parts, no boundary, two files, fields that are files."""
    attacker = world.attacker
    good = _part('name="file"; filename="a.txt"')
    many = [_part(f'name="f{number}"', b"a") for number in range(2_000)]
    forms = {
        "no file name": _form(_part('name="file"')),
        "an empty file name": _form(_part('name="file"; filename=""')),
        "no name": _form(_part('filename="a.txt"')),
        "two thousand fields": _form(good, *many),
        "two thousand files": _form(*(_part(f'name="f{n}"; filename="{n}"') for n in range(2_000))),
        "an unknown field": _form(good, _part('name="workspace_id"', world.victim.workspace_id.encode())),
        "a field that is a file": _form(good, _part('name="name"; filename="b"')),
        "an unknown visibility": _form(good, _part('name="visibility"', b"public")),
        "no end": _form(good)[:-20],
        "nothing": b"",
        "no part": _form(),
        "an endless header": _form(b"Content-Disposition: form-data; name=" + b"a" * 100_000 + b"\r\n\r\nx"),
        "an empty file": _form(_part('name="file"; filename="a.txt"', b"")),
    }
    statuses = {name: (await _post_form(attacker, body)).status for name, body in forms.items()}
    for content_type in ("multipart/form-data", "multipart/form-data; boundary=", "text/plain", "application/json"):
        statuses[content_type] = (await _post_form(attacker, _form(good), content_type)).status
    wrong = {name: status for name, status in statuses.items() if status not in {400, 413, 415, 422}}
    if wrong:
        raise Breach(f"accepted: {wrong}")
    return f"{len(statuses)} forms: {distinct(statuses.values())}"


@case(Family.UPLOADS, "a file name in the form cannot become a header or a path")
async def file_names_in_the_form(world: World) -> str:
    """The name comes from the part's own header here."""
    owner, kept = await world.founder(), []
    names = (
        'a.txt"; x="y',
        "a\\..\\..\\b.txt",
        "../../c.txt",
        "d%0d%0aSet-Cookie: x.txt",
        "e.txt;.html",
        "=?utf-8?q?f?=.txt",
    )
    for number, name in enumerate(names):
        escaped = name.replace('"', "%22")
        form = _form(_part(f'name="file"; filename="{escaped}"', f"Text {number}.".encode()))
        sent = (await _post_form(owner, form)).expect(202).json()
        path = f"/v1/documents/{sent['document_id']}"
        content = (await owner.call("GET", f"{path}/content")).expect(200)
        shown = (await owner.call("GET", path)).json()["name"]
        if content.header("set-cookie") or "/" in shown or "\\" in shown or "\n" in shown:
            raise Breach(f"kept as {shown!r}")
        kept.append(shown)
    return f"{len(kept)} names, all harmless"


@case(Family.UPLOADS, "a body without any token is refused")
async def an_upload_by_nobody(world: World) -> str:
    """And leaves no file behind."""
    root = world.service.services.settings.blob_path
    before = sum(path.is_file() for path in root.rglob("*"))
    files = {"file": ("a.txt", b"A text of nobody.", "text/plain")}
    (await world.send("POST", "/v1/documents", files=files)).expect(401)
    foreign = {**world.attacker.headers(), "X-Workspace-Id": world.victim.workspace_id}
    (await world.send("POST", "/v1/documents", files=files, headers=foreign)).expect(403)
    if sum(path.is_file() for path in root.rglob("*")) != before:
        raise Breach("a refused upload left its bytes behind")
    return "401 without a token, 403 into the victim's workspace, no bytes stored"
