import numpy as np

from bench.questions import fuzzed, questions
from bench.synthetic import Library, tenant

LIBRARY = Library()
ASKED = tenant("asked", 500, 3)


def test_questions_are_different_short_and_the_same_in_every_run() -> None:
    asked = list(questions(LIBRARY, ASKED, 100, 1))
    assert len({each.text for each in asked}) == 100
    assert all(3 <= len(each.text.split()) <= 10 for each in asked)
    assert [each.text for each in questions(LIBRARY, ASKED, 100, 1)] == [each.text for each in asked]
    assert [each.text for each in questions(LIBRARY, ASKED, 100, 2)] != [each.text for each in asked]


def test_most_questions_are_near_to_a_passage_and_those_off_topic_are_not() -> None:
    vectors = np.concatenate([each.vectors for each in LIBRARY.documents(ASKED)])
    asked = list(questions(LIBRARY, ASKED, 200, 1))
    nearest = [(each.off_topic, float((vectors @ each.vector).max())) for each in asked]
    assert min(cosine for off_topic, cosine in nearest if not off_topic) > 0.6
    assert max(cosine for off_topic, cosine in nearest if off_topic) < 0.3
    assert 20 < sum(off_topic for off_topic, _ in nearest) < 70


def test_odd_questions_are_empty_broken_long_and_of_many_scripts() -> None:
    texts = list(fuzzed(500, 1))
    assert texts == list(fuzzed(500, 1))
    assert "" in texts
    assert sum(len(text.encode("utf-8", "replace")) > 30_000 for text in texts) == 5
    assert max(len(text.encode("utf-8", "replace")) for text in texts) < 500_000
    every = "".join(texts)
    assert all(sign in every for sign in ("'", "&", ":*", "\\", "\x00", "\ud800", "\U0001f642", "\u6a4b", "\u202e"))
