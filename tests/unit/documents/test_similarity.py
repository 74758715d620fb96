import pytest

from app.documents.similarity import likeness_of, look_alike
from tests.support.growth import assert_linear


def alike(one: str, other: str, *, same_size: bool = False) -> bool:
    first, second = likeness_of(one), likeness_of(other)
    found = look_alike(first, second, same_size=same_size)
    assert look_alike(second, first, same_size=same_size) == found
    return found


@pytest.mark.parametrize(
    "name",
    [
        "report.pdf",
        "Report.PDF",
        "REPORT .pdf",
        "report (1).pdf",
        "report(2).pdf",
        "report [3].pdf",
        "report - 1.pdf",
        "report copy.pdf",
        "report - Copy.pdf",
        "report - Copy (2).pdf",
        "report_copy2.pdf",
        "Copy of report.pdf",
        "Copy (2) of report.pdf",
        "Copy of Copy of report.pdf",
        "Kopie von Report.pdf",
        "report - Kopie.pdf",
        "Copie de report.pdf",
        "report copie.pdf",
        "Copia di report.pdf",
        "report - cópia.pdf",
        "report final.pdf",
        "report_FINAL_final.pdf",
        "report_v2.pdf",
        "report v2.1.pdf",
        "report version 3.pdf",
        "report-rev 3.pdf",
        "report Rev.3.pdf",
        "report 2026-11-30.pdf",
        "report_20261130.pdf",
        "2026-11-30 report.pdf",
        "report 30.11.2026.pdf",
        "report (2026_11_30) v2 final (1).pdf",
        "report_-_-_-_-_final.pdf",
        "\uff52eport.pdf",
    ],
)
def test_copies_and_revisions_look_like_the_document_itself(name: str) -> None:
    assert alike(name, "report.pdf")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Jahresbericht_2025-final.docx", "jahresbericht 2025 (1).doc"),
        ("Protokoll v1.md", "Protokoll v2.txt"),
        ("Überblick.pdf", "U\u0308BERBLICK - Kopie.pdf"),
        ("план - копия.pdf", "План.pdf"),
        ("規程 (1).pdf", "規程.pdf"),
        ("chapter-1 (1).pdf", "Chapter 1.pdf"),
        ("ASVS 4.0.3.pdf", "asvs_4.0.3-final.pdf"),
        ("Straße.pdf", "STRASSE (1).pdf"),
    ],
)
def test_names_in_many_forms_look_alike(one: str, other: str) -> None:
    assert alike(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("chapter-1.pdf", "chapter-2.pdf"),
        ("chapter 1.pdf", "chapter.pdf"),
        ("chapter1.pdf", "chapter11.pdf"),
        ("report 2025.pdf", "report 2026.pdf"),
        ("ASVS 4.0.2.pdf", "ASVS 4.0.3.pdf"),
        ("IMG_0001.pdf", "IMG_0002.pdf"),
        ("20261345.pdf", "20261346.pdf"),
        ("report.pdf", "report.docx"),
        ("report.pdf", "reports.pdf"),
        ("report.pdf", "annual report.pdf"),
        ("finale.pdf", "final.pdf"),
        ("copy.pdf", "kopie.pdf"),
        ("v1.pdf", "v2.pdf"),
        ("(1).pdf", "(2).pdf"),
        ("photocopy.pdf", "photo.pdf"),
        ("...", "---"),
        ("a.pdf", ".pdf"),
    ],
)
def test_different_documents_do_not(one: str, other: str) -> None:
    assert not alike(one, other)
    assert not alike(one, other, same_size=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("minutes 2026-11-29.pdf", "minutes 2026-11-30.pdf"),
        ("2026-11-29 minutes.pdf", "2026-11-30 minutes.pdf"),
        ("scan (1).pdf", "scan (2).pdf"),
        ("scan - 1.pdf", "scan - 12.pdf"),
    ],
)
def test_members_of_a_series_are_alike_only_when_they_are_of_one_size(one: str, other: str) -> None:
    assert not alike(one, other)
    assert alike(one, other, same_size=True)


def test_a_thousand_files_of_a_folder_do_not_look_alike() -> None:
    names = [
        *(f"chapter-{n}.pdf" for n in range(250)),
        *(f"scan ({n}).pdf" for n in range(250)),
        *(f"log 2026-{n % 12 + 1:02}-{n // 12 + 1:02}.txt" for n in range(250)),
        *(f"IMG_{n:04}.html" for n in range(250)),
    ]
    seen = [likeness_of(name) for name in names]
    assert not [
        (names[i], names[j]) for i in range(1_000) for j in range(i) if look_alike(seen[i], seen[j], same_size=False)
    ]


@pytest.mark.parametrize("part", [" ", "-", " - ", "(1)", " copy", " copy of ", "v2 ", "2026-11-30 ", "(", "copy of"])
def test_a_hostile_name_costs_no_more_than_its_length(part: str) -> None:
    text = part * (20_000 // len(part))
    assert_linear(lambda name: likeness_of(f"a{name}b.pdf"), text)
    assert_linear(lambda name: likeness_of(f"a{name}.pdf"), text)
