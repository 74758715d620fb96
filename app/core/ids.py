"""Identifiers: their types and how each is made."""

from typing import NewType
from uuid import UUID, uuid4, uuid5

UserId = NewType("UserId", UUID)
WorkspaceId = NewType("WorkspaceId", UUID)
DocumentId = NewType("DocumentId", UUID)
VersionId = NewType("VersionId", UUID)
ChunkId = NewType("ChunkId", UUID)
AnswerId = NewType("AnswerId", UUID)
InvitationId = NewType("InvitationId", UUID)

_CHUNK_NAMESPACE = UUID("6f0a1a52-6f0e-5d0f-9c0b-3f1c4a7f2b61")


def new_id() -> UUID:
    """Return a random (version 4) identifier: it tells nothing and cannot be guessed."""
    return uuid4()


def chunk_id(content_sha256: str, parser_version: str, chunker_version: str, ordinal: int) -> ChunkId:
    """Return the id that the same chunk of the same bytes gets however often it is made.

    Args:
        content_sha256: Hex SHA-256 of the file's bytes.
        parser_version: Version of the parser that made the canonical text.
        chunker_version: Version of the chunker that cut it.
        ordinal: Position of the chunk in its version, from 0.
    """
    return ChunkId(uuid5(_CHUNK_NAMESPACE, f"{content_sha256}:{parser_version}:{chunker_version}:{ordinal}"))
