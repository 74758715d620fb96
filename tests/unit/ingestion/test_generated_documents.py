from hypothesis import example, given, settings, strategies as st

from app.ingestion.chunking import Chunk, chunk
from app.ingestion.parsing.text import parse_text
from app.ingestion.parsing.types import Mark, MarkKind, ParsedDocument
from tests.support.generated import LIMITS, check_chunks, check_generated, count_letters, document_of

EXAMPLES = 300
"""In each run of the tests; `python -m tests.support.generated 10000` checks more."""


def test_chunks_of_generated_documents_are_slices_in_order_within_all_limits() -> None:
    check_generated(EXAMPLES)


def _check_file(text: str) -> tuple[Chunk, ...]:
    document = parse_text(text.encode(), LIMITS)
    chunks = chunk(document, count_letters, seconds=LIMITS.seconds)
    check_chunks(document, chunks, count_letters)
    return chunks


def test_five_megabytes_of_unique_words_are_cut_whole() -> None:
    assert _check_file(" ".join(f"w{number:x}q" for number in range(650_000)))


def test_a_line_of_900_kb_is_cut_whole() -> None:
    assert _check_file("Begin\n" + "a" * 450_000 + "; b" * 150_000 + "\nend")


@st.composite
def _tables(draw: st.DrawFn) -> list[tuple[bool, list[int]]]:
    """Return tables: whether it has a header, and the words of each row."""
    return draw(st.lists(st.tuples(st.booleans(), st.lists(st.integers(1, 300), min_size=1, max_size=40)), max_size=5))


def _lines(number: int, table: tuple[bool, list[int]]) -> list[tuple[MarkKind, str]]:
    has_header, rows = table
    header = [(MarkKind.HEADER_ROW, f"Head{number} | Value")] if has_header else []
    return header + [(MarkKind.ROW, f"row{number} | " + " ".join([f"cell{number}"] * words) + ".") for words in rows]


def _marked(tables: list[tuple[bool, list[int]]]) -> ParsedDocument:
    text, marks = "", []
    for number, table in enumerate(tables):
        for kind, line in _lines(number, table):
            marks.append(Mark(len(text), len(text) + len(line), kind))
            text += line + "\n"
        text += "\n"
    return document_of(text, marks=marks)


def _markdown(tables: list[tuple[bool, list[int]]]) -> ParsedDocument:
    lines = [
        f"| {line} |\n" + ("|---|:-:|\n" if kind is MarkKind.HEADER_ROW else "")
        for number, table in enumerate(tables)
        for kind, line in [*_lines(number, table), (MarkKind.ROW, "")]
    ]
    return document_of("".join(lines).replace("|  |\n", "\n"))


def _check_headers(document: ParsedDocument, tables: list[tuple[bool, list[int]]]) -> None:
    chunks = chunk(document, count_letters)
    check_chunks(document, chunks, count_letters)
    for item in chunks:
        for number, (has_header, _) in enumerate(tables):
            has_rows = f"row{number} " in item.text or f"cell{number}" in item.text
            shown = item.heading == f"Head{number} | Value" or f"Head{number} | Value" in item.text
            assert has_header or not shown
            assert not has_rows or shown is has_header
            assert has_rows or not item.heading.startswith(f"Head{number} ")
        assert item.text.strip("|-: \n")


@settings(max_examples=100, deadline=None)
@given(_tables())
@example([(True, [5] * 40), (True, [5] * 40), (False, [5] * 3)])
def test_each_chunk_of_a_marked_table_shows_the_header_of_its_rows_alone(tables: list[tuple[bool, list[int]]]) -> None:
    _check_headers(_marked(tables), tables)


@settings(max_examples=100, deadline=None)
@given(_tables())
@example([(True, [300]), (True, [1]), (False, [230])])
def test_each_chunk_of_a_markdown_table_shows_the_header_of_its_rows_alone(
    tables: list[tuple[bool, list[int]]],
) -> None:
    _check_headers(_markdown(tables), tables)
