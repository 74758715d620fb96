"""Words for what a document's owner should know about its pages."""

from collections.abc import Sequence

from app.ingestion.parsing.types import ParsedPage

_MOST_NAMED = 20


def no_text_warnings(pages: Sequence[ParsedPage]) -> tuple[str, ...]:
    """Return warnings that list the pages without text, such as "Pages 4 and 9 hold no text."."""
    empty = [page for page in pages if not page.has_text]
    return (
        *_no_text([page.number for page in empty if not page.furniture], "no text"),
        *_no_text([page.number for page in empty if page.furniture], "no text but headers and footers"),
    )


def _no_text(numbers: Sequence[int], what: str) -> tuple[str, ...]:
    if not numbers:
        return ()
    return (f"{page_list(numbers).capitalize()} {'holds' if len(numbers) == 1 else 'hold'} {what}.",)


def page_list(numbers: Sequence[int]) -> str:
    """Return "page 4", "pages 4 and 9" or "pages 1 to 3, 7 and 9"; long lists are cut short."""
    runs = _runs(numbers)
    parts = [str(first) if first == last else f"{first} to {last}" for first, last in runs[:_MOST_NAMED]]
    noun = "page" if len(numbers) == 1 else "pages"
    if len(runs) > _MOST_NAMED:
        return f"{noun} {', '.join(parts)} and others"
    return f"{noun} {' and '.join([', '.join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)}"


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
