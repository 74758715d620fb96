"""Puts generated documents into the tables, past triggers and foreign keys, as ingestion would have left them."""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from app.core.identifiers import extract_identifiers
from bench import binary_copy as binary
from bench.lexicon import WORDS
from bench.synthetic import CHUNKER, MODEL, PARSER, Document, Library, Tenant, Words

Numbers = npt.NDArray[np.int64]
Connection = psycopg.Connection[TupleRow]

_BATCH_DOCUMENTS = 256
_TOKENS_A_LINE = 12
_CHUNKS_A_PAGE = 3
_GAP = 2
"""Characters between two chunks of a canonical text."""

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "contents": (
        "workspace_id", "sha256", "blob_key", "media_type", "size_bytes", "status", "page_count", "chunk_count",
        "parser_version", "chunker_version", "embedding_model", "created_by", "language", "text_search", "counted",
    ),
    "documents": (
        "workspace_id", "id", "name", "visibility", "identifiers", "named_by", "latest_version_id",
        "current_version_id", "created_by", "current_content",
    ),
    "versions": ("workspace_id", "id", "document_id", "content_sha256", "number", "created_by"),
    "document_grants": ("workspace_id", "document_id", "user_id"),
    "pages": ("workspace_id", "content_sha256", "number", "label", "start_offset", "text", "has_text"),
    "chunks": (
        "workspace_id", "id", "content_sha256", "ordinal", "start_offset", "end_offset", "page_start", "page_end",
        "heading", "text", "token_count",
    ),
    "chunk_words": ("workspace_id", "chunk_id", "content_sha256", "length", "words", "counts"),
    "chunk_embeddings": ("workspace_id", "model", "chunk_id", "content_sha256", "embedding"),
}  # fmt: skip
_FILLED = (*_COLUMNS, "word_counts")

_COUNT_WORDS = """
    INSERT INTO word_counts (workspace_id, word, chunks)
    SELECT %(workspace)s, t.word, t.chunks
    FROM unnest(string_to_array(%(words)s, ' ')::bigint[], string_to_array(%(chunks)s, ' ')::integer[])
        AS t (word, chunks)
"""
# One string there and back: the driver takes a minute for so many values.
_NUMBERS = """
    SELECT string_agg({}::text, ' ' ORDER BY t.place)
    FROM string_to_table(%(words)s, ' ') WITH ORDINALITY AS t (word, place)
"""
_WORD = sql.SQL("word_number(%(workspace)s, 'english', t.word)")
_IDENTIFIER = sql.SQL("identifier_number(%(workspace)s, t.word)")
_SECONDARY_INDEXES = """
    SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i
    WHERE i.indrelid = ANY(%s::regclass[])
      AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid)
    ORDER BY 1
"""


@dataclass(slots=True)
class _Shelf:
    """What is known of one tenant while it is filled.

    Attributes:
        numbers: The number of every token in its workspace as a word, then of every identifier among them as such, and
            last of the word of no letters.
        chunks: In how many chunks each of these stands.
        length: Positions of all chunks.
    """

    numbers: Numbers
    chunks: npt.NDArray[np.int32]
    length: int = 0


@dataclass(slots=True)
class Loader:
    """Fills tables through a connection for each of them.

    Args:
        url: The database, as a superuser.
        library: Writes the documents.
    """

    url: str = field(repr=False)
    library: Library

    def load(self, tenants: Sequence[Tenant]) -> None:
        """Store tenants with all their documents, in a random order over all of them, and what counts their words."""
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(_connect(self.url))
            shelves = {each.workspace_id: self._open(connection, each) for each in tenants}
            writer = stack.enter_context(_writing(self.url))
            rows: dict[str, list[bytes]] = defaultdict(list)
            for count, document in enumerate(self._mixed(tenants), start=1):
                self._add(rows, document, shelves[document.tenant.workspace_id])
                if count % _BATCH_DOCUMENTS == 0:
                    writer(rows)
                    rows = defaultdict(list)
            writer(rows)
            for each in tenants:
                _close(connection, each, shelves[each.workspace_id])

    def _mixed(self, tenants: Sequence[Tenant]) -> Iterator[Document]:
        """Yield the documents as if everybody had uploaded all the time: those of one tenant are not side by side."""
        places = np.concatenate([np.full(each.documents, place) for place, each in enumerate(tenants)])
        np.random.default_rng(2).shuffle(places)
        sources = [self.library.documents(each) for each in tenants]
        return (next(sources[place]) for place in places)

    def _open(self, connection: Connection, tenant: Tenant) -> _Shelf:
        connection.execute(
            "INSERT INTO users (id, issuer, subject) VALUES (%(owner)s, 'bench', %(owner)s), "
            "(%(guest)s, 'bench', %(guest)s)",
            {"owner": tenant.owner, "guest": tenant.guest},
        )
        connection.execute(
            "INSERT INTO workspaces (id, name, created_by, embedding_model) VALUES (%s, 'Bench', %s, %s)",
            (tenant.workspace_id, tenant.owner, MODEL),
        )
        connection.execute(
            "INSERT INTO memberships (workspace_id, user_id, role) VALUES (%s, %s, 'owner'), (%s, %s, 'member')",
            (tenant.workspace_id, tenant.owner, tenant.workspace_id, tenant.guest),
        )
        lexicon = self.library.lexicon
        numbers = np.zeros(lexicon.size + len(lexicon.identifiers) + 1, np.int64)
        for known, kind, words in (
            (slice(0, tenant.known_words), _WORD, lexicon.lexemes[: tenant.known_words]),
            (slice(WORDS, lexicon.size), _WORD, lexicon.lexemes[WORDS:]),
            (slice(lexicon.size, -1), _IDENTIFIER, lexicon.identifiers),
        ):
            statement = sql.SQL(_NUMBERS).format(kind)
            given = {"workspace": tenant.workspace_id, "words": " ".join(words)}
            ((found,),) = connection.execute(statement, given)
            numbers[known] = np.array(found.split(), np.int64)
        ((numbers[-1],),) = connection.execute("SELECT word_number(%s, 'english', '')", (tenant.workspace_id,))
        return _Shelf(numbers, np.zeros(numbers.size, np.int32))

    def _add(self, rows: dict[str, list[bytes]], document: Document, shelf: _Shelf) -> None:
        words = document.words()
        shelf.length += int(words.counts.sum())
        words = self._with_identifiers(words, document)
        np.add.at(shelf.chunks, words.tokens, 1)
        workspace, content = document.tenant.workspace_id.bytes, document.content_sha256.encode()
        ids = [document.chunk_id(ordinal).bytes for ordinal in range(len(document.lines))]
        arrays = zip(
            binary.bigint_arrays(shelf.numbers[words.tokens], words.ends),
            binary.smallint_arrays(words.counts, words.ends),
            strict=True,
        )
        for chunk, line, (numbers, counts) in zip(ids, document.lines, arrays, strict=True):
            length = binary.integer(document.heading.size + line.size)
            rows["chunk_words"].append(binary.row(workspace, chunk, content, length, numbers, counts))
        model = MODEL.encode()
        for chunk, vector in zip(ids, binary.halfvecs(document.vectors), strict=True):
            rows["chunk_embeddings"].append(binary.row(workspace, model, chunk, content, vector))
        self._add_texts(rows, document, ids)
        _add_document(rows, document)

    def _with_identifiers(self, words: Words, document: Document) -> Words:
        """Add to the words of each chunk its identifiers as such, 2 for a leading one, and the word of no letters."""
        lexicon = self.library.lexicon
        chunks = np.repeat(np.arange(len(words.ends)), np.diff(words.ends, prepend=0))
        found = words.tokens >= WORDS
        leading = words.tokens[found] == np.array([line[0] for line in document.lines])[chunks[found]]
        each = np.arange(len(words.ends))
        order = np.argsort(np.concatenate([chunks, chunks[found], each]), kind="stable")
        none = np.full(each.size, lexicon.size + len(lexicon.identifiers))
        tokens = np.concatenate([words.tokens, words.tokens[found] - WORDS + lexicon.size, none])[order]
        counts = np.concatenate([words.counts, 1 + leading.astype(np.int32), np.ones(each.size, np.int32)])[order]
        ends = np.array(words.ends) + np.cumsum(np.bincount(chunks[found], minlength=each.size)) + each + 1
        return Words(tokens.astype(np.int32), counts.astype(np.int32), tuple(ends.tolist()))

    def _add_texts(self, rows: dict[str, list[bytes]], document: Document, ids: Sequence[bytes]) -> None:
        """Add the texts and the pages; the texts of pages are left out, since search does not read them."""
        workspace, content = document.tenant.workspace_id.bytes, document.content_sha256.encode()
        heading, start = self._heading(document).encode(), 0
        for ordinal, (chunk, line) in enumerate(zip(ids, document.lines, strict=True)):
            text, page = self._text(line).encode(), ordinal // _CHUNKS_A_PAGE + 1
            where = (ordinal, start, start + len(text), page, page)
            rows["chunks"].append(
                binary.row(
                    workspace,
                    chunk,
                    content,
                    *map(binary.integer, where),
                    heading,
                    text,
                    binary.integer(line.size),
                )
            )
            if ordinal % _CHUNKS_A_PAGE == 0:
                number = binary.integer(page)
                label, at = str(page).encode(), binary.integer(start)
                rows["pages"].append(binary.row(workspace, content, number, label, at, b"", b"\1"))
            start += len(text) + _GAP

    def _heading(self, document: Document) -> str:
        return " ".join(self.library.lexicon.tokens[token] for token in document.heading.tolist())

    def _text(self, line: npt.NDArray[np.int32]) -> str:
        tokens = [self.library.lexicon.tokens[token] for token in line.tolist()]
        lines = (tokens[at : at + _TOKENS_A_LINE] for at in range(0, len(tokens), _TOKENS_A_LINE))
        return "\n".join(map(" ".join, lines))


def _add_document(rows: dict[str, list[bytes]], document: Document) -> None:
    tenant, content, named = document.tenant, document.content_sha256.encode(), document.id.bytes
    workspace, owner, integer = tenant.workspace_id.bytes, tenant.owner.bytes, binary.integer
    pages, chunks = -(-len(document.lines) // _CHUNKS_A_PAGE), len(document.lines)
    rows["contents"].append(
        binary.row(
            workspace, content, content, b"application/pdf", binary.bigint(chunks), b"ready", integer(pages),
            integer(chunks), PARSER.encode(), CHUNKER.encode(), MODEL.encode(), owner, b"en", b"english", b"\1",
        )
    )  # fmt: skip
    visibility = b"restricted" if tenant.restricted else b"workspace"
    identifiers = binary.text_array(extract_identifiers(document.name))
    rows["documents"].append(
        binary.row(
            workspace, named, document.name.encode(), visibility, identifiers, owner, named, named, owner, content
        )
    )
    rows["versions"].append(binary.row(workspace, named, named, content, integer(1), owner))
    if tenant.restricted:
        rows["document_grants"].append(binary.row(workspace, named, owner))


def _close(connection: Connection, tenant: Tenant, shelf: _Shelf) -> None:
    """Store what the triggers would have counted."""
    (known,) = np.nonzero(shelf.chunks)
    words, chunks = (" ".join(map(str, values[known].tolist())) for values in (shelf.numbers, shelf.chunks))
    connection.execute(_COUNT_WORDS, {"workspace": tenant.workspace_id, "words": words, "chunks": chunks})
    connection.execute(
        "UPDATE workspaces SET searched_chunks = %s, searched_words = %s WHERE id = %s",
        (tenant.chunks, shelf.length, tenant.workspace_id),
    )


@contextlib.contextmanager
def without_secondary_indexes(url: str) -> Iterator[None]:
    """Drop what is no constraint while the block fills the tables, and make it again: an index made at once is faster.

    Nothing is cleaned up behind the block's back afterwards, so that what is measured does not change meanwhile.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(_SECONDARY_INDEXES, [list(_FILLED)]).fetchall()
        for name, _ in found:
            connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
        for table in (*_FILLED, "workspaces"):
            connection.execute(sql.SQL("ALTER TABLE {} SET (autovacuum_enabled = off)").format(sql.Identifier(table)))
        yield
        connection.execute("SET maintenance_work_mem = '768MB'")
        for _, definition in found:
            connection.execute(definition.encode())
        for table in (*_FILLED, "workspaces"):
            connection.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(table)))


def grant(url: str, tenant: Tenant, documents: Iterable[UUID]) -> None:
    """Let the guest read some documents."""
    with psycopg.connect(url) as connection:
        for each in documents:
            connection.execute(
                "INSERT INTO document_grants (workspace_id, document_id, user_id) VALUES (%s, %s, %s)",
                (tenant.workspace_id, each, tenant.guest),
            )


def delete(url: str, tenant: Tenant, documents: Iterable[Document]) -> int:
    """Delete documents as the service does, with its triggers, and return how many chunks they had."""
    gone = [(each.id, each.content_sha256, len(each.lines)) for each in documents]
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('app.workspace_id', %s, true)", (str(tenant.workspace_id),))
        for statement, keys in (
            ("DELETE FROM documents WHERE workspace_id = %s AND id = ANY(%s)", [named for named, _, _ in gone]),
            ("DELETE FROM contents WHERE workspace_id = %s AND sha256 = ANY(%s)", [content for _, content, _ in gone]),
        ):
            connection.execute(statement, (tenant.workspace_id, keys))
    return sum(chunks for _, _, chunks in gone)


def miscounted(url: str, tenant: Tenant) -> int:
    """Let the triggers count the words of a tenant anew, and return how many counts differ from those stored."""
    workspace = {"workspace": tenant.workspace_id}
    counts = "SELECT word, chunks FROM word_counts WHERE workspace_id = %(workspace)s"
    totals = "SELECT searched_chunks, searched_words FROM workspaces WHERE id = %(workspace)s"
    with psycopg.connect(url) as connection:
        before = {*connection.execute(counts, workspace), *connection.execute(totals, workspace)}
        connection.execute("SET LOCAL session_replication_role = replica")
        for statement in (
            "UPDATE documents SET current_content = NULL WHERE workspace_id = %(workspace)s",
            "UPDATE contents SET counted = false WHERE workspace_id = %(workspace)s",
            "UPDATE workspaces SET searched_chunks = 0, searched_words = 0 WHERE id = %(workspace)s",
            "DELETE FROM word_counts WHERE workspace_id = %(workspace)s",
        ):
            connection.execute(statement, workspace)
        connection.execute("SET LOCAL session_replication_role = origin")
        connection.execute(
            "UPDATE documents SET corpus_term = ~corpus_term WHERE workspace_id = %(workspace)s", workspace
        )
        return len(before ^ {*connection.execute(counts, workspace), *connection.execute(totals, workspace)})


@contextlib.contextmanager
def _connect(url: str) -> Iterator[Connection]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        yield connection


@contextlib.contextmanager
def _writing(url: str) -> Iterator[Callable[[Mapping[str, Sequence[bytes]]], None]]:
    """Give what writes a batch of rows, by table, while the next one is being made; all is written when it ends."""
    with contextlib.ExitStack() as stack:
        connections = {table: stack.enter_context(_connect(url)) for table in _COLUMNS}
        pool = stack.enter_context(ThreadPoolExecutor(len(connections)))
        underway: list[Future[None]] = []

        def write(rows: Mapping[str, Sequence[bytes]]) -> None:
            for each in underway:
                each.result()
            underway[:] = [pool.submit(_copy, connections[table], table, lines) for table, lines in rows.items()]

        yield write
        write({})


def _copy(connection: Connection, table: str, rows: Sequence[bytes]) -> None:
    columns = sql.SQL(", ").join(map(sql.Identifier, _COLUMNS[table]))
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(sql.Identifier(table), columns)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(binary.HEADER)
        copy.write(b"".join(rows))
        copy.write(binary.TRAILER)
