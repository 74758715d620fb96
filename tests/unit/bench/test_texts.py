import csv
import io

from app.documents.media_types import MediaType
from app.ingestion.parsing.formats import parse
from app.ingestion.parsing.types import ParseLimits
from bench import texts

LIMITS = ParseLimits(seconds=60, memory_bytes=2**30, max_pages=50, max_characters=10**6, max_unpacked_bytes=2**29)


def test_documents_are_the_same_bytes_for_the_same_arguments_and_others_for_another_seed() -> None:
    for make in (texts.pdf, texts.markdown, texts.table):
        assert make(3, 1) == make(3, 1)
        assert make(3, 1) != make(3, 2)
    assert texts.prose(500, 1) == texts.prose(500, 1) != texts.prose(500, 2)


def test_a_generated_pdf_reads_as_pages_of_prose_with_headings_and_tables() -> None:
    document = parse(texts.pdf(4, 7, marker="zebrafish"), MediaType.PDF, LIMITS)
    assert [page.has_text for page in document.pages] == [True] * 4
    assert all(2_300 < len(page.text) < 3_300 for page in document.pages)
    assert "zebrafish" in document.pages[0].text
    assert all(f"Procedure 7.{page.number}" in page.text for page in document.pages)
    assert "Limit" in document.pages[3].text


def test_a_generated_table_has_a_header_and_as_many_rows_as_asked_for() -> None:
    data = texts.table(200, 1)
    rows = list(csv.reader(io.StringIO(data.decode())))
    assert rows[0] == ["code", "part", "quantity", "instruction"]
    assert [len(row) for row in rows] == [4] * 201


def test_prose_has_the_asked_length_and_its_marker() -> None:
    text = texts.prose(5_000, 1, "zebrafish")
    assert 5_000 <= len(text) < 6_000
    assert "zebrafish" in text
