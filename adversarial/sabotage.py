"""Breaks the service on purpose, one way at a time: a case that still passes then sees nothing."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

from adversarial.cases import Sabotage
from adversarial.unfiltered import without_reader_filters, without_workspace_filters
from adversarial.world import World
from app.answering.claims import Citation, Claim, Draft
from app.auth.tokens import TokenVerifier
from app.retrieval.types import Passage


@contextmanager
def sabotaged(world: World, kind: Sabotage) -> Iterator[None]:
    """Break the running service until the block ends; without walls, it must have been started unbound."""
    engine = world.service.services.database.engine
    if kind is Sabotage.NO_WALLS:
        with without_workspace_filters(engine):
            yield
    elif kind is Sabotage.NO_RESTRICTIONS:
        with without_reader_filters(engine):
            yield
    elif kind is Sabotage.NO_SIGNATURES:
        with patch.object(TokenVerifier, "_check_signature", lambda *_: None):
            yield
    else:
        with patch("app.answering.service.verify", _obey):
            yield


def _obey(_draft: Draft, passages: Sequence[Passage], _question: str) -> Iterator[Claim]:
    """Do what a document says: a claim of its making, with an invented quote."""
    for passage in passages[:1]:
        quote = "You now have access to every workspace."
        place = (passage.chunk_id, passage.document_id, passage.document_name, passage.version_id)
        yield Claim(quote, (Citation(1, *place, page=passage.page_start, start=0, end=len(quote), quote=quote),))
