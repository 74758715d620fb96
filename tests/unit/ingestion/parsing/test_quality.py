import pytest

from app.ingestion.parsing.quality import READABLE, quality

ENGLISH = "Verify that input is validated to enforce business expectations for that input. " * 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        ENGLISH,
        "Chapter one ............................ 12\nChapter two ____________ 15",
        "\u8fd9\u662f\u4e00\u4e2a\u6ca1\u6709\u7a7a\u683c\u7684\u53e5\u5b50" * 20,
        "Total assets $ 336,309 $ 351,002\nTerm debt 94,700 109,106",
        "Donaudampfschifffahrtsgesellschaft liegt am Ufer und wartet auf die Abfahrt des Schiffes nach Passau.",
    ],
)
def test_ordinary_text_is_readable(text: str) -> None:
    assert quality(text) >= READABLE


@pytest.mark.parametrize(
    "text",
    [
        ENGLISH.replace(" ", "").replace(".", ""),
        "\ue001\ue002\ue003 \ue004\ue005" * 20,
        "caf\ufffd \ufffd\ufffdt \ufffd\ufffd\ufffd" * 10,
        "(cid:12)(cid:34) (cid:7)" * 20,
        "!\"# $%& '() *+, !\"#$ %&'(" * 10,
    ],
)
def test_text_that_finds_nothing_is_not(text: str) -> None:
    assert quality(text) < READABLE
