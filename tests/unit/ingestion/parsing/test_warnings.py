import pytest

from app.ingestion.parsing.warnings import page_list


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([4], "page 4"),
        ([4, 9], "pages 4 and 9"),
        ([1, 2, 3, 7, 9], "pages 1 to 3, 7 and 9"),
        (range(1, 100, 2), f"pages {', '.join(str(number) for number in range(1, 41, 2))} and others"),
    ],
)
def test_pages_are_listed_in_words(numbers: list[int], words: str) -> None:
    assert page_list(numbers) == words
