"""Passages made up for tests."""

from uuid import UUID, uuid5

from app.core.ids import ChunkId, DocumentId, VersionId
from app.retrieval.types import ArmRanks, PageStart, Passage

_SPACE = UUID(int=7)


def passage(
    text: str,
    *,
    name: str = "handbook.txt",
    heading: str = "",
    start: int = 0,
    pages: tuple[PageStart, ...] = (PageStart(1, 0),),
    similarity: float = 0.5,
    arms: ArmRanks | None = None,
) -> Passage:
    """Return a passage whose ids follow from its text and name."""
    return Passage(
        chunk_id=ChunkId(uuid5(_SPACE, text)),
        document_id=DocumentId(uuid5(_SPACE, name)),
        document_name=name,
        version_id=VersionId(uuid5(_SPACE, "version " + name)),
        content_sha256="0" * 64,
        ordinal=0,
        page_start=pages[0].number,
        page_end=pages[-1].number,
        start=start,
        end=start + len(text),
        text=text,
        heading=heading,
        pages=pages,
        token_count=len(text.split()),
        arms=arms or ArmRanks(vector=1),
        similarity=similarity,
    )
