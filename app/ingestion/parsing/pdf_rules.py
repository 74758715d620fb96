"""Takes ruled lines from a page that pdfium has open: the frames of tables, among all else that is drawn."""

import ctypes
from typing import Any, NamedTuple

from app.ingestion.parsing import pdf_library as pdfium
from app.ingestion.parsing.pdf_frame import Frame

_MOST_OBJECTS = 20_000
"""A page with more objects is a drawing, and its lines are no table's."""
_MOST_RULES = 2_000
_MOST_SEGMENTS = 400
"""A path with more segments is a drawing."""
_THICKEST_RULE = 3.0
_SHORTEST_RULE = 6.0


class Rule(NamedTuple):
    """A straight line that is drawn, horizontal or vertical, in points from the top left of the page as shown."""

    left: float
    top: float
    right: float
    bottom: float


def read_rules(page: Any, frame: Frame) -> tuple[Rule, ...]:
    """Return the lines that are drawn on a page, across and down; none of a drawing, which has too many.

    Args:
        page: A pdfium page handle.
        frame: How the page is shown.
    """
    count = pdfium.count_objects(page)
    if count > _MOST_OBJECTS:
        return ()
    edges = (ctypes.c_float * 4)()
    places = [ctypes.c_void_p(ctypes.addressof(edges) + 4 * index) for index in range(4)]
    get_object, object_type = pdfium.get_object, pdfium.object_type
    rules: list[Rule] = []
    for index in range(count):
        item = get_object(page, index)
        if object_type(item) != pdfium.PAGEOBJ_PATH:
            continue
        if pdfium.object_bounds(item, *places):
            rules.extend(_path_rules(item, frame.shown(*edges), frame))
        if len(rules) > _MOST_RULES:
            return ()
    return tuple(rules)


def _path_rules(path: Any, place: tuple[float, float, float, float], frame: Frame) -> list[Rule]:
    """Return the straight lines of a path: its edges when it is stroked, itself when it is a thin filled bar."""
    left, top, right, bottom = place
    if min(right - left, bottom - top) <= _THICKEST_RULE:
        return _rule(left, top, right, bottom)
    if max(right - left, bottom - top) < _SHORTEST_RULE or _is_curved(path) or not _is_stroked(path):
        return []
    return [] if pdfium.count_segments(path) > _MOST_SEGMENTS else _segment_rules(path, frame)


def _is_curved(path: Any) -> bool:
    """Whether a path begins with a curve: most of what is drawn and is no table, told by one segment."""
    return bool(pdfium.segment_type(pdfium.get_segment(path, 1)) == pdfium.SEGMENT_BEZIERTO)


def _is_stroked(path: Any) -> bool:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    return bool(pdfium.draw_mode(path, ctypes.byref(fill), ctypes.byref(stroke)) and stroke.value)


def _rule(left: float, top: float, right: float, bottom: float) -> list[Rule]:
    """Return the middle line of a thin bar."""
    if right - left >= bottom - top:
        middle = (top + bottom) / 2
        return [Rule(left, middle, right, middle)] if right - left >= _SHORTEST_RULE else []
    middle = (left + right) / 2
    return [Rule(middle, top, middle, bottom)] if bottom - top >= _SHORTEST_RULE else []


def _segment_rules(path: Any, frame: Frame) -> list[Rule]:
    matrix = pdfium.Matrix()
    if not pdfium.object_matrix(path, ctypes.byref(matrix)):
        return []
    x, y = ctypes.c_float(), ctypes.c_float()
    begin = here = (0.0, 0.0)
    rules: list[Rule] = []
    for index in range(pdfium.count_segments(path)):
        segment = pdfium.get_segment(path, index)
        if not pdfium.segment_point(segment, ctypes.byref(x), ctypes.byref(y)):
            return []
        kind = pdfium.segment_type(segment)
        there = (
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        if kind == pdfium.SEGMENT_MOVETO:
            begin = there
        elif kind == pdfium.SEGMENT_LINETO:
            rules.extend(_straight(here, there, frame))
        else:
            return []  # curves are drawings
        if pdfium.segment_closes(segment):
            rules.extend(_straight(there, begin, frame))
        here = there
    return rules


def _straight(here: tuple[float, float], there: tuple[float, float], frame: Frame) -> list[Rule]:
    left, right = sorted((here[0], there[0]))
    bottom, top = sorted((here[1], there[1]))
    if min(right - left, top - bottom) > 1.0:
        return []
    return _rule(*frame.shown(left, bottom, right, top))
