"""Search in the database: how fast, how near to an exact scan, never short, and blind for other workspaces.

Generated passages in workspaces of very different sizes; the statement is the service's own, asked by its role.
"""

import asyncio
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from app.core.tenancy import WorkspaceScope
from app.embedded.postgres import APP, SUPERUSER
from bench.figures import Figure, at_least, at_most, exactly, percentile
from bench.loading import Loader, delete, grant, miscounted, without_secondary_indexes
from bench.questions import Question, fuzzed, questions
from bench.runs import Measured, Options
from bench.searching import Search, exact, searching
from bench.servers import running_postgres, sqlalchemy_url
from bench.synthetic import Document, Library, Tenant, tenant

_USUAL, _MOST = 8, 50
"""Passages that a caller gets when they do not say how many, and the most that they may ask for."""
_NEAREST = 10
_SPEED_SEED, _RECALL_SEED, _SHORT_SEED, _ISOLATION_SEED, _DELETION_SEED, _FUZZ_SEED = range(1, 7)
_ASKED = (1_000, 1_000, 1_000, 2_000, 5_000)
_BATCH = 500
_KEPT_OF = 10
_LINES = 12


@dataclass(frozen=True, slots=True)
class _Place:
    """Who asks where.

    Attributes:
        name: What it is called in the figures.
        tenant: The workspace.
        scope: The reader.
        documents: What the reader may read; everything when None.
    """

    name: str
    tenant: Tenant
    scope: WorkspaceScope
    documents: Sequence[Document] | None = None

    @property
    def visible(self) -> int:
        """How many passages the reader may read."""
        if self.documents is None:
            return self.tenant.chunks
        return sum(len(each.lines) for each in self.documents)

    @property
    def contents(self) -> list[str] | None:
        """The contents that the reader may read; None for all."""
        return None if self.documents is None else [each.content_sha256 for each in self.documents]


@dataclass(frozen=True, slots=True)
class _Stage:
    """What is asked.

    Attributes:
        url: The database, as a superuser.
        library: Writes what was loaded.
        search: Asks.
        large: A workspace of a tenth of all passages.
        middle: One of a hundredth.
        small: One of a thousandth.
        guests: Readers of very little in workspaces full of restricted documents.
    """

    url: str
    library: Library
    search: Search
    large: _Place
    middle: _Place
    small: _Place
    guests: tuple[_Place, ...]

    def questions(self, place: _Place, count: int, seed: int) -> list[Question]:
        """Return questions about what is in a place."""
        return list(questions(self.library, place.tenant, count, seed))


async def measure(options: Options) -> Measured:
    """Load a million passages, ask, add those of a stranger, ask again, delete, ask again."""
    with running_postgres() as address:
        began, library, url = time.perf_counter(), Library(), address.url(SUPERUSER)
        asked, filler = _tenants(options.size(1_000, 100))
        await asyncio.to_thread(_load, url, library, (*asked, *filler))
        loaded = Figure("passages loaded and indexed", (time.perf_counter() - began,), "s")
        async with searching(sqlalchemy_url(address.url(APP))) as search:
            stage = _stage(url, library, search, asked)
            wrong = miscounted(url, stage.small.tenant)
            figures = [loaded, Figure("counts that triggers would set otherwise", (wrong,), "", exactly(0))]
            figures += await _arrange(stage)
            speed, lines = await _speed(stage, options)
            figures += speed
            figures += await _recall(stage, options)
            figures.append(await _short(stage, options))
            fuzz, errors = await _fuzz(stage, options)
            figures += fuzz
            figures.append(await _isolation(stage, options))
            figures += await _after_deletion(stage, options)
    return Measured(tuple(figures), (*lines, *errors))


def _tenants(unit: int) -> tuple[tuple[Tenant, ...], tuple[Tenant, ...]]:
    """Return the asked tenants and the others: a thousand units in all."""
    asked = (
        tenant("large", 100 * unit, 1),
        tenant("middle", 10 * unit, 2),
        tenant("small", unit, 3),
        tenant("closed", 100 * unit, 4, restricted=True),
        tenant("closed too", 10 * unit, 5, restricted=True),
    )
    sizes = [100 * unit] * 6 + [10 * unit] * 12 + [unit] * 59
    return asked, tuple(tenant(f"other {number}", size, 100 + number) for number, size in enumerate(sizes))


def _load(url: str, library: Library, tenants: Sequence[Tenant]) -> None:
    with without_secondary_indexes(url):
        Loader(url, library).load(tenants)


def _stage(url: str, library: Library, search: Search, asked: Sequence[Tenant]) -> _Stage:
    large, middle, small, closed, closed_too = asked
    guests = (_guest(url, library, closed, 3), _guest(url, library, closed_too, 1))
    return _Stage(url, library, search, _whole(large), _whole(middle), _whole(small), guests)


def _whole(tenant: Tenant) -> _Place:
    return _Place(f"{tenant.chunks:,} passages", tenant, tenant.scope(tenant.owner))


def _guest(url: str, library: Library, tenant: Tenant, count: int) -> _Place:
    """Let the guest of a closed workspace read some documents of it."""
    documents = [library.document(tenant, number * tenant.documents // count) for number in range(count)]
    grant(url, tenant, [each.id for each in documents])
    readable = sum(len(each.lines) for each in documents)
    return _Place(f"{readable} readable of {tenant.chunks:,}", tenant, tenant.scope(tenant.guest), documents)


async def _arrange(stage: _Stage) -> list[Figure]:
    """Lay vectors out in cells, as the worker does for a workspace that has grown, and clean up as autovacuum would."""
    figures = []
    for place in (stage.large, stage.middle, stage.small, *stage.guests):
        began = time.perf_counter()
        compared = await stage.search.arrange(place.tenant.scope(place.tenant.owner))
        seconds = time.perf_counter() - began
        if compared is not None:
            note = f"then compared with an exact scan: recall {compared.recall:.3f}, breadth {compared.breadth:.1f}"
            figures.append(Figure(f"{place.tenant.chunks:,} vectors laid out in cells", (seconds,), "s", None, note))
    with psycopg.connect(stage.url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE) chunk_embeddings, vector_cells, vector_layouts")
    return figures


async def _speed(stage: _Stage, options: Options) -> tuple[list[Figure], list[str]]:
    figures, lines = [], []
    bars = {stage.middle.name: at_most(10), stage.large.name: at_most(30)}
    for place in (stage.middle, stage.large, stage.small, *stage.guests):
        asked = stage.questions(place, options.size(500, 300), _SPEED_SEED)
        await stage.search.time(place.scope, asked[-50:], _USUAL)
        taken = [1_000 * seconds for seconds in await stage.search.time(place.scope, asked, _USUAL)]
        note = f"{len(taken)} questions, warm, with the driver"
        p50, p95 = percentile(taken, 0.5), percentile(taken, 0.95)
        figures.append(Figure(f"{place.name}: p50", (p50,), "ms"))
        figures.append(Figure(f"{place.name}: p95", (p95,), "ms", bars.get(place.name), note))
        slowest, question = max(zip(taken, (each.text for each in asked), strict=True))
        lines.append(f"{place.name}: slowest {slowest:.1f} ms: {question}")
    return figures, lines


async def _recall(stage: _Stage, options: Options) -> list[Figure]:
    return [
        Figure(f"{place.name}: recall@{_NEAREST} of the vector arm", (share,), "", at_least(0.97), note)
        for place in (stage.large, stage.middle, stage.small, *stage.guests)
        for share, note in [await _recall_of(stage, place, options.size(300, 100), _RECALL_SEED)]
    ]


async def _recall_of(stage: _Stage, place: _Place, count: int, seed: int) -> tuple[float, str]:
    """Return how much of an exact scan the vector arm finds, and for how many questions of each kind not all."""
    shares: dict[bool, list[float]] = {False: [], True: []}
    with psycopg.connect(stage.url) as connection:
        for asked in stage.questions(place, count, seed):
            wanted = exact(connection, place.scope, asked.vector, _NEAREST, place.contents)
            found = await stage.search.nearest(place.scope, asked, _NEAREST)
            shares[asked.off_topic].append(len({*wanted} & {*found}) / len(wanted))
    all_shares = [*shares[False], *shares[True]]
    lost = {off_topic: sum(share < 1 for share in values) for off_topic, values in shares.items()}
    note = f"{count} questions, {len(shares[True])} of them off topic; not complete: {lost[False]} and {lost[True]}"
    return sum(all_shares) / len(all_shares), note


async def _short(stage: _Stage, options: Options) -> Figure:
    """Count results with fewer passages than were asked for and may be read."""
    places = (stage.large, *stage.guests, stage.middle, stage.small)
    counts = [(place, options.size(full, full // 10)) for place, full in zip(places, _ASKED, strict=True)]
    short = sum([await _short_in(stage, place, count, _SHORT_SEED) for place, count in counts])
    total = sum(count for _, count in counts)
    return Figure("short results", (short,), "", exactly(0), f"{total:,} questions")


async def _short_in(stage: _Stage, place: _Place, count: int, seed: int, visible: int | None = None) -> int:
    there, short = place.visible if visible is None else visible, 0
    asking = questions(stage.library, place.tenant, count, seed)
    while asked := list(itertools.islice(asking, _BATCH)):
        for limit, some in ((_USUAL, asked[::2]), (_MOST, asked[1::2])):
            found = await stage.search.find_all(place.scope, some, limit)
            short += sum(len(each) != min(limit, there) for each in found)
    return short


async def _fuzz(stage: _Stage, options: Options) -> tuple[list[Figure], list[str]]:
    texts = list(fuzzed(options.size(10_000, 1_000), _FUZZ_SEED))
    few = len(texts) // 20
    parts = ((stage.large, texts[:few]), (stage.middle, texts[few : 4 * few]), (stage.small, texts[4 * few :]))
    runs = [await stage.search.fuzz(place.scope, part, _USUAL) for place, part in parts]
    errors = [error for run in runs for error in run.errors]
    note = f"{len(texts):,} questions"
    figures = [
        Figure("odd questions: errors", (len(errors),), "", exactly(0), note),
        Figure("odd questions: short results", (sum(run.short for run in runs),), "", exactly(0)),
        Figure("odd questions: slowest", (max(max(run.seconds) for run in runs),), "s", at_most(2), "up to 100 KB"),
    ]
    return figures, errors[:_LINES]


async def _isolation(stage: _Stage, options: Options) -> Figure:
    """Compare results before and after another workspace got the same texts and vectors."""
    asked = stage.questions(stage.large, options.size(500, 100), _ISOLATION_SEED)
    before = await _ids(stage, asked)
    double = tenant("double", stage.large.tenant.chunks, stage.large.tenant.seed)
    await asyncio.to_thread(Loader(stage.url, stage.library).load, [double])
    with psycopg.connect(stage.url, autocommit=True) as connection:
        connection.execute("ANALYZE")
    after = await _ids(stage, asked)
    changed = sum(one != other for one, other in zip(before, after, strict=True))
    note = f"{double.chunks:,} passages of the same texts in another workspace, {len(asked)} questions"
    return Figure("results that others change", (changed,), "", exactly(0), note)


async def _ids(stage: _Stage, asked: Sequence[Question]) -> list[list[str]]:
    found = await stage.search.find_all(stage.large.scope, asked, _MOST)
    return [[str(passage.chunk_id) for passage in passages] for passages in found]


async def _after_deletion(stage: _Stage, options: Options) -> list[Figure]:
    """Delete nine documents of ten, and let nothing clean up behind."""
    place = stage.large
    gone = (each for each in stage.library.documents(place.tenant) if each.number % _KEPT_OF)
    deleted = await asyncio.to_thread(delete, stage.url, place.tenant, gone)
    left, count = place.tenant.chunks - deleted, options.size(1_000, 200)
    short = await _short_in(stage, place, count, _DELETION_SEED, left)
    share, note = await _recall_of(stage, place, options.size(200, 50), _DELETION_SEED)
    return [
        Figure("after deletion: short results", (short,), "", exactly(0), f"{left:,} passages left, {count} questions"),
        Figure(f"after deletion: recall@{_NEAREST}", (share,), "", at_least(0.97), note),
    ]
