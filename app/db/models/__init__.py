"""The tables, one module each; importing this package registers all of them."""

from app.db.models.answers import Answer, AnswerCitation, Conversation
from app.db.models.base import Base
from app.db.models.chunks import Chunk, ChunkEmbedding, ChunkWords, VectorCell, VectorLayout, WordCount
from app.db.models.contents import Content, Page
from app.db.models.documents import Document, DocumentGrant, Version
from app.db.models.jobs import DeadLetter, PendingBlob
from app.db.models.users import User
from app.db.models.workspaces import Invitation, Membership, Workspace

__all__ = [
    "Answer",
    "AnswerCitation",
    "Base",
    "Chunk",
    "ChunkEmbedding",
    "ChunkWords",
    "Content",
    "Conversation",
    "DeadLetter",
    "Document",
    "DocumentGrant",
    "Invitation",
    "Membership",
    "Page",
    "PendingBlob",
    "User",
    "VectorCell",
    "VectorLayout",
    "Version",
    "WordCount",
    "Workspace",
]
