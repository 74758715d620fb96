from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st

from app.bootstrap import Services
from app.core.errors import NotFoundError, UnavailableError
from app.core.ids import ChunkId
from app.documents.types import Visibility
from app.retrieval.service import RetrievalService
from app.retrieval.types import Passage
from tests.support.corpus import Corpus
from tests.support.tenants import Tenant, Tenants

BRIDGE = "The bridge over the Salm was opened in 1931 by the mayor of the town."
FERRY = "The ferry across the lake carries forty cars and leaves every hour until midnight."
TIMER = "Timer T3410 is started when the attach request is sent and runs for fifteen seconds."
OTHER_TIMER = "Timer T3411 is started when the attach request is refused and runs for ten seconds."


@pytest.fixture(scope="module")
async def tenant(tenants: Tenants, corpus: Corpus) -> Tenant:
    made = await tenants.workspace()
    for name, text in {"bridge": BRIDGE, "ferry": FERRY, "t10": TIMER, "t11": OTHER_TIMER}.items():
        await corpus.add(made.scope, f"{name}.txt", text)
    return made


def texts(passages: tuple[Passage, ...]) -> list[str]:
    return [passage.text.strip() for passage in passages]


async def test_the_passage_that_a_question_is_about_comes_first(retrieval: RetrievalService, tenant: Tenant) -> None:
    found = (await retrieval.search(tenant.scope, "Who opened the bridge?")).passages
    assert texts(found)[0] == BRIDGE
    assert found[0].arms.keyword == 1
    assert found[0].arms.vector == 1
    assert found[0].arms.identifier is None
    assert found[0].similarity > found[-1].similarity


async def test_an_exact_identifier_beats_its_neighbour(retrieval: RetrievalService, tenant: Tenant) -> None:
    for wanted, text in (("T3410", TIMER), ("T3411", OTHER_TIMER)):
        found = (await retrieval.search(tenant.scope, f"When does {wanted} run after the attach request?")).passages
        assert texts(found)[0] == text
        assert found[0].arms.identifier == 1
        assert all(passage.arms.identifier is None for passage in found[1:])


async def test_a_number_in_the_name_of_a_document_prefers_that_document(
    retrieval: RetrievalService, tenants: Tenants, corpus: Corpus
) -> None:
    scope = (await tenants.workspace()).scope
    await corpus.add(scope, "Rules 3.0.pdf.txt", "2.13 Verify that keys are kept in a safe.")
    await corpus.add(scope, "Rules 3.0.1.txt", "2.13 Verify that keys are kept in a safe, as in 3.0 and before.")
    found = (await retrieval.search(scope, "What does 2.13 of Rules 3.0.1 say?")).passages
    assert found[0].document_name == "Rules 3.0.1.txt"


async def test_offsets_of_a_passage_stand_in_its_page(
    services: Services, retrieval: RetrievalService, tenant: Tenant
) -> None:
    (passage, *_) = (await retrieval.search(tenant.scope, "ferry across the lake")).passages
    page = await services.documents.page(tenant.scope, passage.document_id, passage.page_start, passage.version_id)
    start = passage.start - passage.pages[0].offset
    assert page.text[start : start + len(passage.text)] == passage.text


async def test_another_workspace_never_appears(
    retrieval: RetrievalService, tenants: Tenants, corpus: Corpus, tenant: Tenant
) -> None:
    other = await tenants.workspace()
    assert (await retrieval.search(other.scope, "Who opened the bridge?")).passages == ()
    await corpus.add(other.scope, "bridge.txt", BRIDGE)
    found = (await retrieval.search(other.scope, "Who opened the bridge?")).passages
    mine = (await retrieval.search(tenant.scope, "Who opened the bridge?")).passages
    assert texts(found) == [BRIDGE]
    assert {each.document_id for each in found}.isdisjoint(each.document_id for each in mine)


async def test_a_restricted_document_is_found_by_whom_it_was_granted_only(
    retrieval: RetrievalService, tenants: Tenants, corpus: Corpus
) -> None:
    tenant = await tenants.workspace()
    _, member = await tenants.member(tenant)
    await corpus.add(member, "secret.txt", "The merger with Nordwind is planned for May.", Visibility.RESTRICTED)
    found = (await retrieval.search(member, "When is the merger planned?")).passages
    assert len(found) == 1
    assert (await retrieval.search(tenant.scope, "When is the merger planned?")).passages == ()
    with pytest.raises(NotFoundError):
        await retrieval.chunk(tenant.scope, found[0].chunk_id)
    state = await retrieval.corpus_state(tenant.scope)
    assert (state.documents_readable, state.documents_ready, state.documents_in_progress) == (0, 0, 0)


async def test_a_replaced_version_is_not_searched_but_its_chunk_stays_readable(
    retrieval: RetrievalService, tenants: Tenants, corpus: Corpus
) -> None:
    scope = (await tenants.workspace()).scope
    await corpus.add(scope, "fees.txt", "The yearly fee is forty euro.")
    (old,) = (await retrieval.search(scope, "yearly fee")).passages
    await corpus.add(scope, "fees.txt", "The yearly fee is fifty euro.")
    (new,) = (await retrieval.search(scope, "yearly fee")).passages
    assert texts((new,)) == ["The yearly fee is fifty euro."]
    kept = await retrieval.chunk(scope, old.chunk_id)
    assert (kept.text, kept.version_id, kept.pages) == (old.text, old.version_id, old.pages)


async def test_a_version_that_is_not_ready_leaves_the_old_one_in_place(
    retrieval: RetrievalService, tenants: Tenants, corpus: Corpus
) -> None:
    scope = (await tenants.workspace()).scope
    await corpus.add(scope, "fees.txt", "The yearly fee is forty euro.")
    before = await retrieval.corpus_state(scope)
    await corpus.add(scope, "fees.txt", "The yearly fee is sixty euro.", process=False)
    assert texts((await retrieval.search(scope, "yearly fee")).passages) == ["The yearly fee is forty euro."]
    state = await retrieval.corpus_state(scope)
    assert (state.documents_readable, state.documents_ready, state.documents_in_progress) == (1, 1, 1)
    assert state.corpus_version == before.corpus_version


async def test_the_same_content_under_two_names_comes_once_under_the_oldest(
    retrieval: RetrievalService, tenants: Tenants, corpus: Corpus
) -> None:
    scope = (await tenants.workspace()).scope
    await corpus.add(scope, "first.txt", BRIDGE)
    await corpus.add(scope, "second.txt", BRIDGE)
    found = (await retrieval.search(scope, "Who opened the bridge?")).passages
    assert [passage.document_name for passage in found] == ["first.txt"]


async def test_the_same_content_is_found_under_the_name_that_the_reader_may_know(
    retrieval: RetrievalService, tenants: Tenants, corpus: Corpus
) -> None:
    tenant = await tenants.workspace()
    _, member = await tenants.member(tenant)
    await corpus.add(member, "hidden name.txt", BRIDGE, Visibility.RESTRICTED)
    await corpus.add(tenant.scope, "open name.txt", BRIDGE)
    found = (await retrieval.search(tenant.scope, "Who opened the bridge?")).passages
    assert [passage.document_name for passage in found] == ["open name.txt"]
    assert (await retrieval.chunk(tenant.scope, found[0].chunk_id)).document_name == "open name.txt"


async def test_vectors_of_another_model_are_not_searched(services: Services, tenant: Tenant) -> None:
    # The services cannot run the model that made these vectors, and must not compare them with those of their own.
    with pytest.raises(UnavailableError, match="embedding model"):
        await services.retrieval.search(tenant.scope, "Who opened the bridge?")


async def test_a_question_of_stop_words_is_answered_by_the_vector_arm(
    retrieval: RetrievalService, tenant: Tenant
) -> None:
    found = (await retrieval.search(tenant.scope, "what is it that was, and where?")).passages
    assert len(found) == 4
    assert all(passage.arms.keyword is None and passage.arms.vector for passage in found)


async def test_the_limit_holds_and_the_order_is_stable(retrieval: RetrievalService, tenant: Tenant) -> None:
    all_found = (await retrieval.search(tenant.scope, "attach request timer", 4)).passages
    assert len(all_found) == 4
    assert (await retrieval.search(tenant.scope, "attach request timer", 2)).passages == all_found[:2]
    assert [each.score for each in all_found] == sorted((each.score for each in all_found), reverse=True)


@pytest.mark.parametrize(
    "query",
    ["'", "&", ":*", "a & !b | (c <-> d):*", "\\", "E'\\x00'", "%s %(a)s :name", "bridge'; DROP TABLE chunks; --", "🙂",
     "橋は", "\u202eegdirb", "\ud800", "\x00", "{}", "NaN", "x" * 4_000, "the " * 1_000, "1.1.1.1 " * 200],
)  # fmt: skip
async def test_signs_of_query_languages_are_only_text(retrieval: RetrievalService, tenant: Tenant, query: str) -> None:
    assert len((await retrieval.search(tenant.scope, query)).passages) == 4


async def test_a_thousand_random_questions_always_find_all_there_is(
    retrieval: RetrievalService, tenant: Tenant
) -> None:
    pieces = st.one_of(
        st.text(max_size=40),
        st.text("'\"&|!:*()<->\\ abT3410.-", max_size=40),
        st.sampled_from(["bridge", "T3410", "O'Hara", "3.0.1", "a\\'b", "x:*", "''", "$1", "--"]),
    )

    @given(st.lists(pieces, min_size=1, max_size=6).map(" ".join))
    @hypothesis_settings(max_examples=1_000, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def draw(question: str) -> None:
        questions.append(question)

    questions: list[str] = []
    draw()
    for question in questions:
        assert len((await retrieval.search(tenant.scope, question)).passages) == 4, ascii(question)


async def test_an_unknown_chunk_is_not_found(retrieval: RetrievalService, tenant: Tenant) -> None:
    with pytest.raises(NotFoundError):
        await retrieval.chunk(tenant.scope, ChunkId(uuid4()))


async def test_a_chunk_of_another_workspace_is_not_found(
    retrieval: RetrievalService, tenants: Tenants, tenant: Tenant
) -> None:
    (passage, *_) = (await retrieval.search(tenant.scope, "bridge")).passages
    stranger = (await tenants.workspace()).scope
    with pytest.raises(NotFoundError):
        await retrieval.chunk(stranger, passage.chunk_id)
