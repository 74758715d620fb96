"""Finds tables by the lines that are drawn around their cells, or between their rows."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from app.ingestion.parsing.pdf_layout import Piece, pieces_of
from app.ingestion.parsing.pdf_rules import Rule
from app.ingestion.parsing.pdf_tables import Cell, Row, Table, columns_of, has_header, is_table
from app.ingestion.parsing.pdf_words import Word, WordLine

_TOUCH = 3.0
"""Points within which two drawn lines meet, and parts of one line follow each other."""
_SAME = 1.5
"""Points within which two parallel lines are one."""
_MOST_CROSSINGS = 40_000
_MOST_TABLES = 20
_FEW_HEIGHTS = 3
"""Lines across, with the ends of the lines down, of a table that may have lines below its header only."""
_LEAST_ROWS = 3
"""Lines of equal length that make a table without lines down: of two, many a page has a header and a footer."""
_OPEN_GUTTER = 0.3
"""Line heights between the columns of a table without lines down; its rows are certain."""


class _Grid(NamedTuple):
    """Drawn lines that meet."""

    across: list[Rule]
    down: list[Rule]


def ruled_tables(lines: Sequence[WordLine], rules: Sequence[Rule]) -> tuple[list[WordLine], list[Table]]:
    """Return the lines outside of ruled tables (with their numbers kept by empty lines), and the tables."""
    tables: list[Table] = []
    rest = list(lines)
    for grid in [*_grids(rules), *_open_grids(lines, rules)]:
        table, left_over = _fill(rest, grid, len(tables))
        if table:
            tables.append(table)
            rest = left_over
    return rest, tables


def _grids(rules: Sequence[Rule]) -> list[_Grid]:
    across = _merged([rule for rule in rules if rule.top == rule.bottom])
    down = [
        Rule(*_turned(rule)) for rule in _merged([Rule(*_turned(rule)) for rule in rules if rule.left == rule.right])
    ]
    if len(across) * len(down) > _MOST_CROSSINGS:
        return []
    group = list(range(len(across)))  # of each line across, by the lines down that it meets
    meets: list[list[int]] = []
    for rule in down:
        met = [number for number, other in enumerate(across) if _meet(other, rule)]
        meets.append(met)
        for number in met[1:]:
            first, second = group[met[0]], group[number]
            if first != second:
                group = [first if name == second else name for name in group]
    grids = {name: _Grid([], []) for name in dict.fromkeys(group)}
    for number, rule in enumerate(across):
        grids[group[number]].across.append(rule)
    for rule, met in zip(down, meets, strict=True):
        if met:
            grids[group[met[0]]].down.append(rule)
    # The largest first, and few: a form may have a hundred boxes, each a grid of its own.
    large = sorted(grids.values(), key=lambda grid: len(grid.across) * len(grid.down), reverse=True)[:_MOST_TABLES]
    return [grid for grid in large if grid.down]


def _turned(rule: Rule) -> tuple[float, float, float, float]:
    return rule.top, rule.left, rule.bottom, rule.right


def _merged(rules: list[Rule]) -> list[Rule]:
    """Join lines across at the same height that follow each other or lie over each other."""
    by_height: list[list[Rule]] = []
    for rule in sorted(rules, key=lambda rule: rule.top):
        if by_height and rule.top - by_height[-1][0].top <= _SAME:
            by_height[-1].append(rule)
        else:
            by_height.append([rule])
    merged: list[Rule] = []
    for level in by_height:
        level.sort()
        top = level[0].top
        left, right = level[0].left, level[0].right
        for rule in level[1:]:
            if rule.left - right > _TOUCH:
                merged.append(Rule(left, top, right, top))
                left, right = rule.left, rule.right
            right = max(right, rule.right)
        merged.append(Rule(left, top, right, top))
    return merged


def _meet(across: Rule, down: Rule) -> bool:
    return (
        across.left - _TOUCH <= down.left <= across.right + _TOUCH
        and down.top - _TOUCH <= across.top <= down.bottom + _TOUCH
    )


class _Place(NamedTuple):
    row: int
    column: int


def _fill(lines: Sequence[WordLine], grid: _Grid, number: int) -> tuple[Table | None, list[WordLine]]:
    """Put words into the cells of a grid; no table when what comes out is none."""
    # Lines down that go beyond the last line across have a row at their end: there are tables without a frame.
    ends = [edge for rule in grid.down for edge in (rule.top, rule.bottom)]
    heights = _distinct([min(ends), *(rule.top for rule in grid.across), max(ends)])
    if len(heights) < 3:  # noqa: PLR2004 (two rows)
        return None, []
    left, right = min(rule.left for rule in grid.across), max(rule.right for rule in grid.across)
    columns = _columns_by_row(grid.down, heights, left, right)
    cells: dict[_Place, list[tuple[Word, ...]]] = {}
    rest: list[WordLine] = []
    bold: set[int] = set()
    first = -1
    for index, line in enumerate(lines):
        inside, outside = _sorted_out(line, heights, columns, left, right)
        for place, words in inside:
            cells.setdefault(place, []).append(words)
            first = index if first < 0 else first
            bold |= {place.row} if line.bold else set()
        rest.append(line._replace(words=tuple(outside)))
    rows = _rows(cells, bold, [len(edges) - 1 for edges in columns])
    if len(heights) <= _FEW_HEIGHTS:
        rows = tuple(part for row in rows for part in _unstacked(row))
    if not is_table(rows):
        return None, []
    stand_in = Piece((), left, heights[0], right, heights[-1], first, 0, 0.0, bold=False, table=number)
    return Table(rows, has_header(rows, ruled=True), stand_in), rest


def _open_grids(lines: Sequence[WordLine], rules: Sequence[Rule]) -> Iterator[_Grid]:
    """Yield the grids of tables that have lines between their rows only: white gutters part their columns."""
    by_extent: dict[tuple[int, int], list[Rule]] = defaultdict(list)
    for rule in _merged([rule for rule in rules if rule.top == rule.bottom]):
        by_extent[round(rule.left / _TOUCH), round(rule.right / _TOUCH)].append(rule)
    candidates = [group for group in by_extent.values() if len(group) >= _LEAST_ROWS]
    if not 0 < len(candidates) <= _MOST_TABLES:
        return
    pieces = pieces_of(lines)
    for group in candidates:
        left, right = group[0].left - _TOUCH, group[0].right + _TOUCH
        inside = [piece for piece in pieces if left <= piece.left and piece.right <= right]
        if grid := _open_grid(inside, group, left, right):
            yield grid


def _open_grid(inside: Sequence[Piece], group: list[Rule], left: float, right: float) -> _Grid | None:
    top, bottom = group[0].top, group[-1].top
    body = [piece for piece in inside if top <= (piece.top + piece.bottom) / 2 <= bottom]
    columns = columns_of(body, _OPEN_GUTTER) if body else []
    if len(columns) < 2:  # noqa: PLR2004
        return None
    above, below = (_row_beside(inside, columns, rule.top, sign) for rule, sign in ((group[0], -1), (group[-1], 1)))
    whole = columns_of([*body, *above, *below], _OPEN_GUTTER)
    if len(whole) == len(columns):
        columns = whole
        top = min((piece.top - 1 for piece in above), default=top)
        bottom = max((piece.bottom + 1 for piece in below), default=bottom)
    edges = [left, *((before[1] + after[0]) / 2 for before, after in pairwise(columns)), right]
    return _Grid(group, [Rule(edge, top, edge, bottom) for edge in edges])


def _row_beside(pieces: Sequence[Piece], columns: list[tuple[float, float]], height: float, sign: int) -> list[Piece]:
    """Return the cells of a row beyond the outermost line across, above it (sign -1) or below (1); none without two."""
    row: list[Piece] = []
    used: set[int] = set()
    reach = sign * height
    for piece in sorted(pieces, key=lambda piece: min(sign * piece.top, sign * piece.bottom)):
        near, far = sorted((sign * piece.top, sign * piece.bottom))
        if near < sign * height - _SAME:
            continue
        met = [number for number, (left, right) in enumerate(columns) if piece.left < right and left < piece.right]
        if near - reach > piece.height or len(met) != 1:
            break
        row.append(piece)
        used.update(met)
        reach = max(reach, far)
    return row if len(used) > 1 else []


def _distinct(edges: list[float]) -> list[float]:
    result: list[float] = []
    for edge in sorted(edges):
        if not result or edge - result[-1] > _TOUCH:
            result.append(edge)
    return result


def _columns_by_row(down: list[Rule], heights: list[float], left: float, right: float) -> list[list[float]]:
    """Return for each row the edges of its columns; a cell over several columns has no line inside."""
    result = []
    for top, bottom in pairwise(heights):
        middle = (top + bottom) / 2
        result.append(_distinct([left, *(rule.left for rule in down if rule.top < middle < rule.bottom), right]))
    return result


def _sorted_out(
    line: WordLine, heights: list[float], columns: list[list[float]], left: float, right: float
) -> tuple[list[tuple[_Place, tuple[Word, ...]]], list[Word]]:
    inside: list[tuple[_Place, list[Word]]] = []
    outside: list[Word] = []
    for word in line.words:
        x, y = (word.left + word.right) / 2, (word.top + word.bottom) / 2
        if not (left <= x <= right and heights[0] <= y < heights[-1]):
            outside.append(word)
            continue
        row = bisect_right(heights, y) - 1
        edges = columns[row]
        place = _Place(row, min(max(bisect_right(edges, x) - 1, 0), len(edges) - 2))
        if inside and inside[-1][0] == place:
            inside[-1][1].append(word)
        else:
            inside.append((place, [word]))
    return [(place, tuple(words)) for place, words in inside], outside


def _rows(cells: dict[_Place, list[tuple[Word, ...]]], bold: set[int], widths: list[int]) -> tuple[Row, ...]:
    most = max(widths)
    return tuple(
        Row(tuple(Cell(tuple(cells.get(_Place(row, column), ()))) for column in range(most)), widths[row], row in bold)
        for row in sorted({place.row for place in cells})
    )


def _unstacked(row: Row) -> list[Row]:
    """Part what stands between two lines into rows, where a table has lines below its header only.

    All cells have the same number of lines then, side by side. Cells of several lines cannot be told apart: a first
    column whose lines stand apart gives no row, and so no table.
    """
    filled = [cell.lines for cell in row.cells if cell.lines]
    count = len(filled[0])
    beside = all(
        len(lines) == count
        and all(
            abs(line[0].top - other[0].top) * 3 < _height(line) for line, other in zip(lines, filled[0], strict=True)
        )
        for lines in filled
    )
    if beside and count > 2 and len(filled) == row.width:  # noqa: PLR2004 (two lines may be two lines of one row)
        return [row._replace(cells=tuple(Cell(cell.lines[at : at + 1]) for cell in row.cells)) for at in range(count)]
    apart = any(below[0].top - above[0].bottom > _height(above) / 2 for above, below in pairwise(row.cells[0].lines))
    return [] if apart else [row]


def _height(line: tuple[Word, ...]) -> float:
    return line[0].bottom - line[0].top
