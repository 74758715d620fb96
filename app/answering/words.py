"""Content words, for comparing a question with a sentence. English rules; other scripts pass through unchanged."""

import re

_WORD = re.compile(r"[^\W_]+(?:[.\-'\u2019][^\W_]+)*")
_ENDINGS = ("ational", "ization", "fulness", "ation", "ments", "ingly", "ment", "ness", "ings", "edly", "ies", "ing")
_SHORT_ENDINGS = ("ers", "ed", "es", "er", "ly", "s", "e")
_KEPT = 3

_STOP_WORDS = """
    a about after all also am an and any are as at be because been before being between both but by can could did do
    does doing during each either for from further give gave given had has have having he her here hers him his how i
    if in into is it its itself just like many may me might more most much must my no nor not of off on once one only
    or other our out over own per please same shall she should so some such tell than that the their them then there
    these they this those through to too under until up upon us very was we were what when where whether which while
    who whom whose why will with within without would you your 's
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def words(text: str) -> list[str]:
    """Return every word in lower case, in order; a word with a dot or hyphen inside stays one."""
    return [match.group().lower().replace("\u2019", "'") for match in _WORD.finditer(text)]


def stem(word: str) -> str:
    """Return a rough common form of an inflected word: enough to match, not to show."""
    word = word.removesuffix("'s")
    if not word.isalpha():
        return word
    for endings in (_ENDINGS, _SHORT_ENDINGS):
        for ending in endings:
            if word.endswith(ending) and len(word) - len(ending) >= _KEPT:
                return word.removesuffix(ending).rstrip("i")
    return word


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning."""
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS)
