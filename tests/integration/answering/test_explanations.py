from uuid import uuid4

import pytest
from sqlalchemy import select, update

from app.answering.claims import Ask
from app.answering.explanations import MOST_CANDIDATES, Explanation
from app.answering.service import AnsweringService
from app.bootstrap import Services
from app.core.errors import NotFoundError
from app.core.ids import AnswerId
from app.core.tenancy import WorkspaceScope
from app.db.models import Answer as AnswerRow, Chunk, Document, Version
from app.documents.types import DocumentChanges, Visibility
from app.llm.embedders import Embedders
from app.retrieval.context import ContextSettings, Fate
from app.retrieval.service import RetrievalService
from tests.support.corpus import Corpus, WordEmbedder
from tests.support.tenants import Tenant, Tenants

BRIDGE = "The bridge over the Salm was opened in 1931 by the mayor of the town. It has three arches of local stone."
QUESTION = "When was the bridge over the Salm opened?"
BREAD = "Bread is sold by Anna Berg on Sundays in the market hall."
ABOUT_BREAD = "Who sells bread on Sundays in the market hall?"


async def explained(answering: AnsweringService, scope: WorkspaceScope, question: str) -> tuple[AnswerId, Explanation]:
    answer = await answering.answer(scope, Ask(question))
    return answer.id, await answering.explain(scope, answer.id)


def names(explanation: Explanation) -> list[str]:
    return [place.document_name for _, place in explanation.candidates]


async def stored(services: Services, scope: WorkspaceScope, answer_id: AnswerId) -> AnswerRow:
    async with services.database.workspace(scope) as session:
        return (await session.execute(select(AnswerRow).where(AnswerRow.id == answer_id))).scalar_one()


@pytest.fixture
async def tenant(tenants: Tenants, corpus: Corpus) -> Tenant:
    made = await tenants.workspace()
    await corpus.add(made.scope, "bridge.txt", BRIDGE)
    await corpus.add(made.scope, "bread.txt", BREAD)
    return made


async def test_what_was_found_is_shown_with_its_ranks_and_places(
    services: Services, answering: AnsweringService, tenant: Tenant
) -> None:
    answer_id, explanation = await explained(answering, tenant.scope, QUESTION)
    assert names(explanation) == ["bridge.txt", "bread.txt"]
    (best, place), (second, _) = explanation.candidates
    assert (best.fate, best.rank, best.part, best.arms.keyword, best.arms.vector) == (Fate.GIVEN, 1, 1, 1, 1)
    assert (second.fate, second.rank, second.arms.vector) == (Fate.GIVEN, 2, 2)
    assert (place.page_start, place.page_end) == (1, 1)
    assert explanation.retrieval.questions == (QUESTION,)
    assert (explanation.retrieval.documents_readable, explanation.retrieval.documents_ready) == (2, 2)
    assert explanation.not_shown == 0
    row = await stored(services, tenant.scope, answer_id)
    assert row.context_chunk_ids == [candidate.chunk_id for candidate, _ in explanation.candidates]
    assert explanation.corpus_version == row.corpus_version


async def test_each_part_of_a_question_is_told_apart(answering: AnsweringService, tenant: Tenant) -> None:
    _, explanation = await explained(answering, tenant.scope, f"{QUESTION} {ABOUT_BREAD}")
    assert explanation.retrieval.questions == (QUESTION, ABOUT_BREAD)
    assert len({candidate.chunk_id for candidate, _ in explanation.candidates}) == len(explanation.candidates) == 2


async def test_identifiers_that_no_document_holds_are_kept(answering: AnsweringService, tenant: Tenant) -> None:
    answer_id, explanation = await explained(answering, tenant.scope, "Was T3410 or the bridge opened in 1931?")
    assert explanation.retrieval.absent_identifiers == ("t3410",)
    assert (await answering.explain(tenant.scope, answer_id)).retrieval.absent_identifiers == ("t3410",)


async def test_what_ranks_too_low_and_what_repeats_is_shown_with_the_reason(
    services: Services, answering: AnsweringService, tenants: Tenants, corpus: Corpus
) -> None:
    scope = (await tenants.workspace()).scope
    await corpus.add(scope, "bridge.txt", BRIDGE)
    await corpus.add(scope, "copy.txt", f"{BRIDGE.upper()}\n")
    for number in range(40):
        await corpus.add(scope, f"{number}.txt", f"Bridge number {number} was opened in 19{number + 10}.")
    answer_id, explanation = await explained(answering, scope, QUESTION)
    candidates = [candidate for candidate, _ in explanation.candidates]
    counted = {fate: sum(each.fate is fate for each in candidates) for fate in Fate}
    assert (counted[Fate.GIVEN], counted[Fate.DUPLICATE], counted[Fate.RANK]) == (8, 1, 15)
    (repeated,) = (each for each in candidates if each.fate is Fate.DUPLICATE)
    assert repeated.duplicate_of == candidates[0].chunk_id
    assert all(each.why for each in candidates)
    row = await stored(services, scope, answer_id)
    assert row.context_chunk_ids == [each.chunk_id for each in candidates if each.fate is Fate.GIVEN]
    assert len(row.retrieval) == len(candidates) <= MOST_CANDIDATES


async def test_an_explanation_is_for_the_asker_alone(
    answering: AnsweringService, tenants: Tenants, tenant: Tenant
) -> None:
    answer_id, _ = await explained(answering, tenant.scope, QUESTION)
    _, member = await tenants.member(tenant)
    for scope in (member, (await tenants.workspace()).scope):
        with pytest.raises(NotFoundError):
            await answering.explain(scope, answer_id)
    with pytest.raises(NotFoundError):
        await answering.explain(tenant.scope, AnswerId(uuid4()))


async def test_what_was_restricted_since_is_left_out_and_counted(
    services: Services, answering: AnsweringService, tenants: Tenants, corpus: Corpus
) -> None:
    tenant = await tenants.workspace()
    _, member = await tenants.member(tenant)
    await corpus.add(tenant.scope, "bridge.txt", BRIDGE)
    await corpus.add(tenant.scope, "copy.txt", BRIDGE.upper())
    answer_id, before = await explained(answering, member, QUESTION)
    (given, _), (repeated, _) = before.candidates
    assert (given.fate, repeated.fate, repeated.duplicate_of) == (Fate.GIVEN, Fate.DUPLICATE, given.chunk_id)
    restricted = DocumentChanges(visibility=Visibility.RESTRICTED)
    await services.documents.change(tenant.scope, given.document_id, restricted)
    after = await answering.explain(member, answer_id)
    assert (names(after), after.not_shown) == (names(before)[1:], 1)
    assert after.candidates[0][0].duplicate_of is None


async def test_what_was_deleted_since_is_left_out_and_counted(
    services: Services, answering: AnsweringService, corpus: Corpus, tenant: Tenant
) -> None:
    answer_id, before = await explained(answering, tenant.scope, QUESTION)
    await services.documents.delete(tenant.scope, before.candidates[0][0].document_id)
    after = await answering.explain(tenant.scope, answer_id)
    assert (names(after), after.not_shown) == (["bread.txt"], 1)


async def test_what_was_replaced_or_renamed_since_is_shown_under_its_name_of_now(
    services: Services, answering: AnsweringService, corpus: Corpus, tenant: Tenant
) -> None:
    answer_id, before = await explained(answering, tenant.scope, QUESTION)
    await corpus.add(tenant.scope, "bridge.txt", "The bridge is closed for repairs.")
    document = before.candidates[0][0].document_id
    await services.documents.change(tenant.scope, document, DocumentChanges(name="old bridge.txt"))
    after = await answering.explain(tenant.scope, answer_id)
    assert (names(after), after.not_shown) == (["old bridge.txt", "bread.txt"], 0)
    assert after.candidates[0][0] == before.candidates[0][0]


async def test_a_removed_member_sees_nothing_of_it(
    services: Services, answering: AnsweringService, tenants: Tenants, tenant: Tenant
) -> None:
    user, member = await tenants.member(tenant)
    answer_id, _ = await explained(answering, member, QUESTION)
    await services.workspaces.remove_member(tenant.scope, user.id)
    after = await answering.explain(member, answer_id)
    assert (after.candidates, after.not_shown) == ((), 2)


async def test_an_answer_from_before_is_explained_by_what_is_known(
    services: Services, answering: AnsweringService, tenant: Tenant
) -> None:
    answer_id, _ = await explained(answering, tenant.scope, QUESTION)
    async with services.database.workspace(tenant.scope) as session:
        await session.execute(
            update(AnswerRow)
            .where(AnswerRow.workspace_id == tenant.workspace.id, AnswerRow.id == answer_id)
            .values(retrieval=[], searched_questions=[], documents_readable=None, documents_ready=None)
        )
    explanation = await answering.explain(tenant.scope, answer_id)
    assert (explanation.candidates, explanation.not_shown, explanation.question) == ((), 0, QUESTION)
    assert explanation.retrieval.documents_readable is None


async def test_neighbours_are_given_after_the_hits_when_an_answerer_wants_them(
    services: Services, tenants: Tenants, corpus: Corpus
) -> None:
    scope = (await tenants.workspace()).scope
    uploaded = await corpus.add(
        scope, "long.txt", "\n\n".join(f"Paragraph {n} of the lanterns. " * 30 for n in range(9))
    )
    embedders = Embedders(WordEmbedder())
    answering = AnsweringService(
        services.database,
        RetrievalService(services.database, embedders, max_query_characters=4_000),
        embedders.local,
        max_question_characters=4_000,
        context=ContextSettings(hits=1, neighbours=2),
    )
    answer_id, explanation = await explained(answering, scope, "What is in paragraph 4?")
    async with services.database.workspace(scope) as session:
        chunks = await session.scalars(
            select(Chunk)
            .join(Version, Version.content_sha256 == Chunk.content_sha256)
            .join(Document, Document.current_version_id == Version.id)
            .where(Document.id == uploaded.document_id)
        )
        ordinals = {chunk.id: chunk.ordinal for chunk in chunks}
    row = await stored(services, scope, answer_id)
    hit, *beside = [ordinals[chunk] for chunk in row.context_chunk_ids]
    assert beside == [hit + 1, hit - 1]
    fates = [candidate.fate for candidate, _ in explanation.candidates]
    assert fates[:3] == [Fate.GIVEN, Fate.NEIGHBOUR, Fate.NEIGHBOUR]
