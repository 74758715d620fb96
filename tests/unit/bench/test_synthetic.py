import numpy as np
import pytest

from app.core.identifiers import extract_identifiers
from bench.lexicon import WORDS, Lexicon
from bench.synthetic import CHUNKS_A_DOCUMENT, Library, tenant

LIBRARY = Library()
BIG = tenant("big", 1_010, 7)


def test_a_lexicon_has_no_token_twice_and_knows_the_identifiers_among_them() -> None:
    lexicon = Lexicon()
    assert len(set(lexicon.tokens)) == lexicon.size == WORDS + len(lexicon.identifiers)
    assert all(lexicon.identifiers)
    assert not any(extract_identifiers(token) for token in lexicon.tokens[:WORDS])
    draw = np.random.default_rng(1)
    assert [lexicon.tokens[token].rsplit(".", 1)[0] for token in lexicon.clauses(41, draw, 3)] == ["2.1", "2.2", "2.3"]


def test_a_few_words_are_common_and_most_are_rare() -> None:
    words = LIBRARY.lexicon.words(np.random.default_rng(1), (1_000, 100), WORDS)
    share = np.bincount(words.ravel(), minlength=WORDS) / words.size
    assert 0.001 < share[0] < 0.01
    assert share[:10].sum() > 2 * share[100:110].sum()
    assert np.count_nonzero(share) > 20_000
    assert words.max() < WORDS
    assert LIBRARY.lexicon.words(np.random.default_rng(1), (10_000,), 500).max() < 500


def test_documents_are_the_same_for_the_same_seed_in_whichever_workspace() -> None:
    one, same, other = (
        LIBRARY.document(each, 3) for each in (BIG, tenant("double", 1_010, 7), tenant("big", 1_010, 8))
    )
    assert (one.content_sha256, one.chunk_id(2)) == (same.content_sha256, same.chunk_id(2))
    assert all((first == second).all() for first, second in zip(one.lines, same.lines, strict=True))
    assert (one.vectors == same.vectors).all()
    assert one.tenant.workspace_id != same.tenant.workspace_id
    assert one.content_sha256 != other.content_sha256


def test_documents_hold_as_many_chunks_as_the_tenant_and_unit_vectors_nearer_to_each_other_than_to_others() -> None:
    documents = list(LIBRARY.documents(BIG))
    assert len(documents) == BIG.documents == 41
    assert [len(each.lines) for each in documents] == [CHUNKS_A_DOCUMENT] * 40 + [10]
    first, second = documents[0].vectors, documents[1].vectors
    assert np.linalg.norm(first, axis=1) == pytest.approx(np.ones(CHUNKS_A_DOCUMENT), abs=1e-5)
    assert (first @ first.T).mean() > (first @ second.T).mean() + 0.1
    assert len({each.name for each in documents}) == 41


def test_words_are_the_distinct_tokens_of_heading_and_text_with_their_counts() -> None:
    document = LIBRARY.document(BIG, 40)
    words, start = document.words(), 0
    for line, end in zip(document.lines, words.ends, strict=True):
        tokens, counts = np.unique(np.concatenate([document.heading, line]), return_counts=True)
        assert words.tokens[start:end].tolist() == tokens.tolist()
        assert words.counts[start:end].tolist() == counts.tolist()
        start = end
    assert start == words.tokens.size
