"""The functions of pdfium that reading needs, from the library that pypdfium2 brings.

The Python part of pypdfium2 declares a thousand names, which takes longer than to read twenty pages. And its prototypes
check the types of arguments for longer than the functions run: a page asks for a thousand boxes.
"""

import ctypes
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ERR_PASSWORD, ERR_SECURITY = 4, 5
PAGEOBJ_PATH = 2
SEGMENT_LINETO, SEGMENT_BEZIERTO, SEGMENT_MOVETO = 0, 1, 2
_NAMES = {"darwin": "libpdfium.dylib", "win32": "pdfium.dll"}
_CONFIG_VERSION = 2


class Handle(ctypes.c_void_p):
    """A thing of pdfium, false when there is none; a class of its own, which ctypes does not turn into a number."""


class Matrix(ctypes.Structure):
    """Six numbers that turn, scale and move points."""

    _fields_ = tuple((name, ctypes.c_float) for name in "abcdef")


class _Config(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_int),
        ("user_font_paths", ctypes.c_void_p),
        ("isolate", ctypes.c_void_p),
        ("embedder_slot", ctypes.c_uint),
    )


def _load() -> ctypes.PyDLL:
    package = find_spec("pypdfium2_raw")
    if package is None or not package.submodule_search_locations:
        raise ImportError("pdfium is not installed")
    path = Path(package.submodule_search_locations[0]) / _NAMES.get(sys.platform, "libpdfium.so")
    try:
        # Keeps the lock of the interpreter during calls: there is no other thread in the process of a file.
        return ctypes.PyDLL(str(path))
    except OSError as error:  # too little memory, as a rule
        raise ImportError("pdfium cannot be loaded") from error


_library = _load()
_NUMBER, _SIZE, _FLOAT, _AT = ctypes.c_int, ctypes.c_ulong, ctypes.c_float, ctypes.c_void_p


def _function(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(_library, name)
    function.restype, function.argtypes = result, arguments
    return function


def _unchecked(name: str, result: Any) -> Any:
    """Return a function that takes `c_void_p` and numbers of `int` only, at half the price of a checked one."""
    function = getattr(_library, name)
    function.restype = result
    return function


_load_document = _function("FPDF_LoadMemDocument64", Handle, _AT, ctypes.c_size_t, _AT)
close_document = _function("FPDF_CloseDocument", None, Handle)
count_pages = _function("FPDF_GetPageCount", _NUMBER, Handle)
last_error = _function("FPDF_GetLastError", _SIZE)
page_label = _function("FPDF_GetPageLabel", _SIZE, Handle, _NUMBER, _AT, _SIZE)

load_page = _function("FPDF_LoadPage", Handle, Handle, _NUMBER)
close_page = _function("FPDF_ClosePage", None, Handle)
page_width = _function("FPDF_GetPageWidthF", _FLOAT, Handle)
page_height = _function("FPDF_GetPageHeightF", _FLOAT, Handle)
page_bounding_box = _function("FPDF_GetPageBoundingBox", _NUMBER, Handle, _AT)
page_rotation = _function("FPDFPage_GetRotation", _NUMBER, Handle)

load_text = _function("FPDFText_LoadPage", Handle, Handle)
close_text = _function("FPDFText_ClosePage", None, Handle)
count_characters = _function("FPDFText_CountChars", _NUMBER, Handle)
get_text = _function("FPDFText_GetText", _NUMBER, Handle, _NUMBER, _NUMBER, _AT)
get_unicode = _function("FPDFText_GetUnicode", ctypes.c_uint, Handle, _NUMBER)
get_font = _function("FPDFText_GetFontInfo", _SIZE, Handle, _NUMBER, _AT, _SIZE, _AT)
get_box = _unchecked("FPDFText_GetLooseCharBox", None)
get_matrix = _unchecked("FPDFText_GetMatrix", _NUMBER)
get_size = _unchecked("FPDFText_GetFontSize", ctypes.c_double)
get_text_object = _unchecked("FPDFText_GetTextObject", _AT)

count_objects = _function("FPDFPage_CountObjects", _NUMBER, Handle)
get_object = _unchecked("FPDFPage_GetObject", Handle)
object_type = _unchecked("FPDFPageObj_GetType", _NUMBER)
object_bounds = _unchecked("FPDFPageObj_GetBounds", _NUMBER)
object_matrix = _function("FPDFPageObj_GetMatrix", _NUMBER, Handle, _AT)
draw_mode = _function("FPDFPath_GetDrawMode", _NUMBER, Handle, _AT, _AT)
count_segments = _function("FPDFPath_CountSegments", _NUMBER, Handle)
get_segment = _function("FPDFPath_GetPathSegment", Handle, Handle, _NUMBER)
segment_point = _function("FPDFPathSegment_GetPoint", _NUMBER, Handle, _AT, _AT)
segment_type = _function("FPDFPathSegment_GetType", _NUMBER, Handle)
segment_closes = _function("FPDFPathSegment_GetClose", _NUMBER, Handle)

first_child = _function("FPDFBookmark_GetFirstChild", Handle, Handle, Handle)
next_sibling = _function("FPDFBookmark_GetNextSibling", Handle, Handle, Handle)
bookmark_title = _function("FPDFBookmark_GetTitle", _SIZE, Handle, _AT, _SIZE)
bookmark_destination = _function("FPDFBookmark_GetDest", Handle, Handle, Handle)
bookmark_action = _function("FPDFBookmark_GetAction", Handle, Handle)
action_destination = _function("FPDFAction_GetDest", Handle, Handle, Handle)
destination_page = _function("FPDFDest_GetDestPageIndex", _NUMBER, Handle, Handle)

_function("FPDF_InitLibraryWithConfig", None, _AT)(ctypes.byref(_Config(_CONFIG_VERSION, None, None, 0)))


def open_document(data: bytes) -> Handle:
    """Return a document, without one of its pages when it cannot be opened; `last_error` then tells why.

    Args:
        data: The whole file, which must live as long as the document.
    """
    document: Handle = _load_document(data, len(data), None)
    return document
