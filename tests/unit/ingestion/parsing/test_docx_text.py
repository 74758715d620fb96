# ruff: noqa: E501 - raw XML is easier to read in one line
from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st

from app.documents.media_types import MediaType
from app.ingestion.parsing.docx_text import parse_docx
from app.ingestion.parsing.types import MarkKind, ParsedDocument, ParseFailure, ParseLimits, ParseReason
from tests.support.growth import assert_linear
from tests.support.office import docx, listed, packed, paragraph, part, styled, table, zipped

LIMITS = ParseLimits(seconds=30, memory_bytes=2**30, max_pages=100, max_characters=6_000_000, max_unpacked_bytes=2**27)

STYLES = part(
    "styles",
    '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Clause"><w:name w:val="Our Clause"/><w:basedOn w:val="berschrift1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Outlined"><w:name w:val="x"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Local"><w:name w:val="\u00dcberschrift 2"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="y"/><w:basedOn w:val="Loop"/></w:style>',
)


def _text(document: ParsedDocument) -> str:
    return "".join(page.text for page in document.pages)


def _read(body: str, **parts: str) -> str:
    return _text(parse_docx(docx(body, **parts), LIMITS))


def _marked(document: ParsedDocument) -> list[tuple[str, int, str]]:
    text = _text(document)
    return [(mark.kind.value, mark.level, text[mark.start : mark.end]) for mark in document.marks]


def _reason(data: bytes, limits: ParseLimits = LIMITS) -> ParseReason:
    with pytest.raises(ParseFailure) as caught:
        parse_docx(data, limits)
    return caught.value.reason


def _run(content: str) -> str:
    return f"<w:p><w:r>{content}</w:r></w:p>"


def test_headings_come_from_styles_of_any_language_and_from_outline_levels() -> None:
    body = (
        styled("Title", "The Plan")
        + styled("berschrift1", "Timers")
        + styled("Clause", "Derived")
        + styled("Outlined", "Deep")
        + styled("Local", "Lokal")
        + styled("Heading4", "Unknown style")
        + paragraph("Direct", '<w:outlineLvl w:val="4"/>')
        + paragraph("Body of a heading style", '<w:pStyle w:val="berschrift1"/><w:outlineLvl w:val="9"/>')
        + styled("Loop", "Text")
    )
    document = parse_docx(docx(body, styles=STYLES), LIMITS)
    assert _marked(document) == [
        ("heading", 1, "The Plan"),
        ("heading", 1, "Timers"),
        ("heading", 1, "Derived"),
        ("heading", 3, "Deep"),
        ("heading", 2, "Lokal"),
        ("heading", 4, "Unknown style"),
        ("heading", 5, "Direct"),
    ]
    assert document.all_headings_marked


def test_a_document_without_heading_styles_leaves_headings_to_the_reader_of_lines() -> None:
    assert not parse_docx(docx(paragraph("1. Scope") + paragraph("Text.")), LIMITS).all_headings_marked


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("<w:t>a</w:t><w:tab/><w:t>b</w:t>", "a b"),
        ("<w:t>a</w:t><w:br/><w:t>b</w:t>", "a\nb"),
        ("<w:t>co</w:t><w:softHyphen/><w:t>op\u00aderate</w:t>", "cooperate"),
        ("<w:t>T</w:t><w:noBreakHyphen/><w:t>1</w:t>", "T-1"),
        ('<w:t>x</w:t><w:sym w:font="Symbol" w:char="F0B7"/><w:sym w:char="2265"/>', "x\u2265"),
        ("<w:t>a</w:t><m:t>+b</m:t>", "a+b"),
        ("<w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:t>seen</w:t>", "seen"),
        ('<w:rPr><w:vanish w:val="0"/></w:rPr><w:t>seen</w:t>', "seen"),
        (
            "<w:t>a</w:t></w:r><w:del><w:r><w:delText>gone</w:delText><w:t>gone</w:t></w:r></w:del><w:r><w:t>b</w:t>",
            "ab",
        ),
        ("<w:t>a</w:t></w:r><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:r>", "anew"),
        ("<w:t>a</w:t></w:r><w:moveFrom><w:r><w:t>gone</w:t></w:r></w:moveFrom><w:r>", "a"),
        (
            '<w:t>see </w:t></w:r><w:hyperlink r:id="x"><w:r><w:t>the page</w:t></w:r></w:hyperlink><w:r>',
            "see the page",
        ),
        ("</w:r><w:sdt><w:sdtContent><w:r><w:t>control</w:t></w:r></w:sdtContent></w:sdt><w:r>", "control"),
        (
            "<w:ruby><w:rt><w:r><w:t>read</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>base</w:t></w:r></w:rubyBase></w:ruby>",
            "base",
        ),
        (
            (
                '<w:fldChar w:fldCharType="begin"/><w:instrText>PAGE</w:instrText><w:t>code</w:t>'
                '<w:fldChar w:fldCharType="separate"/><w:t>7</w:t><w:fldChar w:fldCharType="end"/><w:t> on</w:t>'
            ),
            "7 on",
        ),
        (
            (
                "<mc:AlternateContent><mc:Choice><w:t>once</w:t></mc:Choice><mc:Fallback><w:t>twice</w:t></mc:Fallback>"
                "</mc:AlternateContent>"
            ),
            "once",
        ),
    ],
)
def test_what_word_shows_is_the_text(run: str, expected: str) -> None:
    assert _read(_run(run)) == expected + "\n"


def test_a_field_that_never_ends_hides_its_paragraph_only() -> None:
    assert _read(_run('<w:fldChar w:fldCharType="begin"/><w:t>x</w:t>') + paragraph("Next.")) == "Next.\n"


def test_a_paragraph_whose_mark_was_deleted_goes_on() -> None:
    assert _read(paragraph("one ", "<w:rPr><w:del/></w:rPr>") + paragraph("two")) == "one two\n"


def test_the_text_of_a_text_box_is_there_once() -> None:
    box = "<w:txbxContent>" + paragraph("In the box") + "</w:txbxContent>"
    body = _run(
        f"<mc:AlternateContent><mc:Choice><wps:txbx>{box}</wps:txbx></mc:Choice>"
        f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent><w:t>Around</w:t>"
    )
    assert _read(body) == "In the box\n\nAround\n"


def test_tables_are_rows_with_their_header() -> None:
    body = table(("Timer", "Value"), ("T3410", ""), ("T3402", "12 min"), properties='<w:tblLook w:val="04A0"/>')
    document = parse_docx(docx(paragraph("Before") + body + paragraph("After")), LIMITS)
    assert _text(document) == "Before\n\nTimer | Value\nT3410 |\nT3402 | 12 min\n\nAfter\n"
    assert _marked(document) == [
        ("header_row", 0, "Timer | Value"),
        ("row", 0, "T3410 |"),
        ("row", 0, "T3402 | 12 min"),
    ]


def test_merged_cells_keep_their_columns() -> None:
    def cell(text: str, properties: str = "") -> str:
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"

    body = (
        "<w:tbl><w:tr><w:trPr><w:tblHeader/></w:trPr>"
        + cell("Group", '<w:gridSpan w:val="2"/>')
        + cell("C")
        + "</w:tr><w:tr>"
        + cell("G1", '<w:vMerge w:val="restart"/>')
        + cell("a")
        + cell("1")
        + "</w:tr><w:tr>"
        + cell("", "<w:vMerge/>")
        + cell("b")
        + cell("2")
        + "</w:tr></w:tbl>"
    )
    document = parse_docx(docx(body), LIMITS)
    assert _text(document) == "Group | | C\nG1 | a | 1\nG1 | b | 2\n"
    assert document.marks[0].kind is MarkKind.HEADER_ROW


def test_a_frame_drawn_as_a_table_is_text_and_tables_in_cells_are_flattened() -> None:
    frame = f"<w:tbl><w:tr><w:tc>{styled('Heading1', 'Note')}{table(('a', 'b'))}</w:tc></w:tr></w:tbl>"
    nested = (
        f"<w:tbl><w:tr><w:tc>{table(('a', 'b'))}</w:tc><w:tc>{paragraph('x')}{paragraph('y')}</w:tc></w:tr></w:tbl>"
    )
    document = parse_docx(docx(frame + nested), LIMITS)
    assert _marked(document) == [("heading", 1, "Note"), ("row", 0, "a | b"), ("row", 0, "a, b | x y")]


def test_notes_stand_at_the_end_of_their_page() -> None:
    footnotes = part(
        "footnotes",
        '<w:footnote w:type="separator" w:id="-1"><w:p/></w:footnote>'
        f'<w:footnote w:id="2">{paragraph("First note.")}</w:footnote><w:footnote w:id="3">{paragraph("Second.")}</w:footnote>',
    )
    endnotes = part("endnotes", f'<w:endnote w:id="1">{paragraph("At the end.")}</w:endnote>')
    body = (
        _run('<w:t>One</w:t><w:footnoteReference w:id="2"/><w:endnoteReference w:id="1"/>')
        + _run('<w:br w:type="page"/>')
        + _run('<w:t>Two</w:t><w:footnoteReference w:id="3"/>')
    )
    document = parse_docx(docx(body, footnotes=footnotes, endnotes=endnotes), LIMITS)
    assert [page.text for page in document.pages] == [
        "One[1][note 1]\n\n[1] First note.\n",
        "Two[2]\n\n[2] Second.\n\n[note 1] At the end.\n",
    ]


@pytest.mark.parametrize(
    "between",
    [
        _run('<w:br w:type="page"/>'),
        '<w:p><w:r><w:br w:type="page"/></w:r><w:r><w:lastRenderedPageBreak/></w:r></w:p>',
        '<w:p><w:pPr><w:sectPr><w:type w:val="continuous"/></w:sectPr></w:pPr></w:p>',
    ],
)
def test_page_breaks_begin_pages(between: str) -> None:
    document = parse_docx(docx(paragraph("One") + between + paragraph("Two") + "<w:sectPr/>"), LIMITS)
    assert [page.text for page in document.pages] == ["One\n", "Two\n"]


def test_a_section_that_goes_on_begins_no_page() -> None:
    section = '<w:sectPr><w:type w:val="continuous"/></w:sectPr>'
    body = paragraph("One", "<w:sectPr/>") + paragraph("Two") + section
    assert len(parse_docx(docx(body), LIMITS).pages) == 1


def test_a_page_that_begins_within_a_sentence_cuts_no_word() -> None:
    body = _run("<w:t>It begins here </w:t><w:lastRenderedPageBreak/><w:t>and ends there.</w:t>")
    document = parse_docx(docx(body), LIMITS)
    assert [page.text for page in document.pages] == ["It begins here ", "and ends there.\n"]


def test_headers_and_footers_are_furniture_without_page_numbers() -> None:
    header = part("hdr", paragraph("Company plan"))
    footer = part(
        "ftr", '<w:p><w:r><w:t>Page </w:t></w:r><w:fldSimple w:instr="PAGE"><w:r><w:t>1</w:t></w:r></w:fldSimple></w:p>'
    )
    section = (
        '<w:sectPr><w:headerReference w:type="default" r:id="header"/><w:footerReference r:id="footer"/></w:sectPr>'
    )
    document = parse_docx(docx(paragraph("Text") + section, header=header, footer=footer), LIMITS)
    assert (document.pages[0].text, document.pages[0].furniture) == ("Text\n", ("Company plan", "Page"))


def test_a_file_of_another_program_is_found_by_its_relations() -> None:
    strict = part("document", f"<w:body>{paragraph('Strict')}</w:body>").replace(
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="a" '
        'Type="http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument" Target="/word/document2.xml"/>'
        "</Relationships>"
    )
    data = zipped({"_rels\\.rels": relations, "word\\document2.xml": strict})
    assert _text(parse_docx(data, LIMITS)) == "Strict\n"


_ENTITIES = '<!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/hostname">]>'


def _with_entities() -> bytes:
    document = part("document", f"<w:body>{_run('<w:t>&b;&f;</w:t>')}</w:body>")
    return packed({"word/document.xml": document.replace("<w:document", _ENTITIES + "<w:document", 1)}, {})


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_with_entities, ParseReason.CORRUPT),
        (lambda: docx(paragraph("x"))[:-30], ParseReason.CORRUPT),
        (lambda: docx("<w:p><w:r>").replace(b"PK\x01\x02", b"PK\x01\x03"), ParseReason.CORRUPT),
        (lambda: packed({"word/document.xml": "<w:p"}, {}), ParseReason.CORRUPT),
        (lambda: zipped({"a.txt": "x"}), ParseReason.CORRUPT),
        (lambda: docx("<w:p/>"), ParseReason.NO_TEXT),
        (lambda: docx(""), ParseReason.NO_TEXT),
        (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), ParseReason.ENCRYPTED),
        (lambda: docx(" " * 2**28), ParseReason.UNPACKED_TOO_LARGE),
        (lambda: docx(_run('<w:t>a</w:t><w:br w:type="page"/>') * 200), ParseReason.TOO_MANY_PAGES),
        (lambda: docx(paragraph("a" * 7_000_000)), ParseReason.TOO_MANY_CHARACTERS),
        (lambda: docx(paragraph("a" * 70_000) * 100), ParseReason.TOO_MANY_CHARACTERS),
    ],
)
def test_hostile_and_damaged_files_end_in_a_typed_way(make: Callable[[], bytes], reason: ParseReason) -> None:
    assert _reason(make()) is reason


def test_what_is_unpacked_counts_and_not_what_the_directory_says() -> None:
    data = bytearray(docx(paragraph("a" * 3_000_000)))
    at = data.find(b"word/document.xml", data.find(b"PK\x01\x02")) - 46
    data[at + 24 : at + 28] = (100).to_bytes(4, "little")
    limits = ParseLimits(30, 2**30, 100, 6_000_000, 1_000_000)
    assert _reason(bytes(data), limits) in {ParseReason.UNPACKED_TOO_LARGE, ParseReason.CORRUPT}


@pytest.mark.parametrize("tag", ["w:sdt", "w:p", "w:tbl", "w:ins"])
def test_deep_nesting_is_read(tag: str) -> None:
    body = f"<{tag}>" * 50_000 + paragraph("Deep") + f"</{tag}>" * 50_000
    assert "Deep" in _read(body)


def test_many_entries_are_harmless() -> None:
    documents = {"word/document.xml": part("document", f"<w:body>{paragraph('Text')}</w:body>")}
    documents |= {f"word/media/{number}.bin": "" for number in range(20_000)}
    assert _text(parse_docx(packed(documents, {}), LIMITS)) == "Text\n"


@pytest.mark.parametrize(
    "unit", ["word ", "<w:lastRenderedPageBreak/>", "<w:tab/>", '<w:fldChar w:fldCharType="begin"/>']
)
def test_time_grows_with_the_text(unit: str) -> None:
    def read(content: str) -> None:
        whole = content[: content.rfind(">") + 1] if unit.startswith("<") else f"<w:t>{content}</w:t>"
        try:
            parse_docx(docx(_run(whole + "<w:t>x</w:t>")), LIMITS)
        except ParseFailure as failure:
            assert failure.reason in {ParseReason.TOO_MANY_PAGES, ParseReason.NO_TEXT}  # noqa: PT017 (both ends are right)

    assert_linear(read, unit * (1_000_000 // len(unit)))


def test_numbered_paragraphs_show_their_numbers() -> None:
    numbering = part(
        "numbering",
        '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="bullet"/>'
        '<w:lvlText w:val="\uf0b7"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>',
    )
    assert _read(paragraph("Items:") + listed("one", 1) + listed("two", 1), numbering=numbering) == (
        "Items:\n\n- one\n- two\n"
    )


_PIECES = st.sampled_from(
    [
        "<w:p>", "</w:p>", "<w:r>", "</w:r>", "<w:t>a\u0301 b</w:t>", "<w:tbl>", "</w:tbl>", "<w:tr>", "</w:tr>", "<w:tc>",
        "</w:tc>", "<w:br/>", '<w:br w:type="page"/>', "<w:lastRenderedPageBreak/>", '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>',
        "<w:sectPr/>", "<w:pPr>", "</w:pPr>", '<w:fldChar w:fldCharType="begin"/>', '<w:fldChar w:fldCharType="end"/>',
        "<w:t>\u0301x</w:t>", "<w:del>", "</w:del>", "<w:vMerge/>", '<w:gridSpan w:val="3"/>',
    ]
)  # fmt: skip


def _balanced(pieces: list[str]) -> str:
    """Return the pieces as XML that is well formed, whatever their order."""
    opened: list[str] = []
    kept = []
    for piece in pieces:
        name = piece.strip("<>/")
        if piece.startswith("</"):
            if not opened or opened[-1] != name:
                continue
            opened.pop()
        elif piece in {"<w:p>", "<w:r>", "<w:tbl>", "<w:tr>", "<w:tc>", "<w:pPr>", "<w:del>"}:
            opened.append(name)
        kept.append(piece)
    return "".join(kept) + "".join(f"</{name}>" for name in reversed(opened))


@settings(max_examples=300)
@given(st.lists(_PIECES, max_size=60).map(_balanced))
def test_marks_lie_in_the_text_whatever_the_elements(body: str) -> None:
    try:
        document = parse_docx(docx(body), LIMITS)
    except ParseFailure as failure:
        assert failure.reason is ParseReason.NO_TEXT  # noqa: PT017 (both ends are right)
        return
    text = _text(document)
    ends = [0]
    for mark in document.marks:
        assert ends[-1] <= mark.start < mark.end <= len(text)
        assert "\n" not in text[mark.start : mark.end]
        ends.append(mark.end)
    assert "\x00" not in text
    assert "\n\n\n" not in text


@given(st.binary(max_size=300), st.integers(0, 1_500), st.integers(0, 50))
def test_any_damage_ends_in_a_typed_way(junk: bytes, at: int, cut: int) -> None:
    whole = docx(paragraph("Some text") + table(("a", "b")), styles=STYLES)
    at = at % len(whole)
    try:
        parse_docx(whole[:at] + junk + whole[at + cut :], LIMITS)
    except ParseFailure as failure:
        assert failure.detail_for(MediaType.DOCX)  # noqa: PT017 (both ends are right)
