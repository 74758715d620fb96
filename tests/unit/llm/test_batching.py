from hypothesis import given, strategies as st

from app.llm.batching import batches


@given(st.lists(st.integers(0, 50)), st.integers(1, 9), st.integers(1, 60))
def test_every_text_is_in_one_request_within_the_limits(lengths: list[int], most_texts: int, most_length: int) -> None:
    found = list(batches(lengths, most_texts=most_texts, most_length=most_length))
    assert sorted(position for batch in found for position in batch) == list(range(len(lengths)))
    for batch in found:
        assert 1 <= len(batch) <= most_texts
        assert len(batch) == 1 or sum(lengths[position] for position in batch) <= most_length


def test_texts_of_similar_length_come_together() -> None:
    assert list(batches([9, 1, 8, 2], most_texts=2, most_length=100)) == [(1, 3), (2, 0)]
