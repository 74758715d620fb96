"""How many texts are cut into requests."""

from collections.abc import Iterator, Sequence


def batches(lengths: Sequence[int], *, most_texts: int, most_length: int) -> Iterator[tuple[int, ...]]:
    """Yield the positions of the texts of each request, so that every text is in one.

    Texts of similar length come together: servers pad a batch to its longest text.

    Args:
        lengths: The length of each text, in any unit.
        most_texts: Most texts of a request.
        most_length: Most length of a request; a text that is longer goes alone.
    """
    batch: list[int] = []
    total = 0
    for position in sorted(range(len(lengths)), key=lambda each: lengths[each]):
        if batch and (len(batch) == most_texts or total + lengths[position] > most_length):
            yield tuple(batch)
            batch, total = [], 0
        batch.append(position)
        total += lengths[position]
    if batch:
        yield tuple(batch)
