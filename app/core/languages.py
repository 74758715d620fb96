"""Tells the language of a text, and prepares text of any script for a search by words."""

import re
import threading
from functools import cache
from itertools import pairwise
from typing import Protocol

NO_STEMMING = "simple"
"""The configuration of Postgres that takes words as they are written."""

# The Snowball stemmers of Postgres 18, by ISO 639-1; Norwegian has a code for each of its written forms, too.
_TEXT_SEARCH = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}

# Scripts that put no spaces between words, or, as Hangul does, only between groups of them. Without their punctuation
# and digits, which part words as in any other script.
_BASES = (
    "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
    "\u3041-\u3096\u309b-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Hiragana, Katakana
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"  # Hangul
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46"  # Thai
    "\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd\u0ec0-\u0ec6\u0edc-\u0edf"  # Lao
    "\u1780-\u17b3\u17d7\u17dc"  # Khmer
    "\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e"  # Myanmar
    "\ua9e0-\ua9e4\ua9e6-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a\uaa7e\uaa7f"
)
# Vowels and tones that are written around the sign before them.
_MARKS = (
    "\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"
    "\u17b4-\u17d3\u17dd"
    "\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d"
    "\ua9e5\uaa7b-\uaa7d"
)
_SAMPLES = 16
_SAMPLE_CHARACTERS = 512
_FEWEST_LETTERS = 12
_LEAST_CERTAINTY = 0.2
_NO_LANGUAGE = "zxx"
_ISO_639_1 = 2
# What is made of digits or of the signs of paths, addresses and code says nothing about the language around it, and is
# much of a technical document: it is not shown to the classifier.
_NO_WORD = re.compile(r"(?<![\w./:@\\=-])[\w./:@\\=-]*[\d_/@\\=][\w./:@\\=-]*", re.ASCII)
_loading = threading.Lock()


class _Identifier(Protocol):
    labels: list[str]

    def set_languages(self, langs: list[str]) -> None: ...

    def classify(self, text: str) -> tuple[str, float]: ...


def detect_language(text: str) -> str:
    """Return the ISO 639-1 code of the language that most of a text is in; empty when that cannot be told.

    A bounded part of the text, spread over all of it, is looked at. The first call loads a model of 140 languages.
    """
    sample = _NO_WORD.sub(" ", _spread(text))
    if sum(map(str.isalpha, sample)) < _FEWEST_LETTERS:
        return ""
    with _loading:
        identifier = _identifier()
    language, certainty = identifier.classify(sample)
    return language if language != _NO_LANGUAGE and certainty >= _LEAST_CERTAINTY else ""


def _spread(text: str) -> str:
    if len(text) <= _SAMPLES * _SAMPLE_CHARACTERS:
        return text
    step = (len(text) - _SAMPLE_CHARACTERS) / (_SAMPLES - 1)
    starts = (round(step * number) for number in range(_SAMPLES))
    return "\n".join(text[start : start + _SAMPLE_CHARACTERS] for start in starts)


@cache
def _identifier() -> _Identifier:
    # Here, since importing takes long; the package carries no types.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]  # noqa: PLC0415

    identifier: _Identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    # Dialects and creoles, which have longer codes, would take texts from the languages that they are near to.
    known = [language for language in identifier.labels if len(language) == _ISO_639_1]
    identifier.set_languages([*known, _NO_LANGUAGE])
    return identifier


_RUN = re.compile(f"[{_BASES}][{_BASES}{_MARKS}]*")
_SIGN = re.compile(f"[{_BASES}][{_MARKS}]*")


def text_search_of(language: str) -> str:
    """Return the text search configuration of Postgres for a language by its ISO 639-1 code, or `NO_STEMMING`."""
    return _TEXT_SEARCH.get(language, NO_STEMMING)


def searchable(text: str) -> str:
    """Return a text in which the words of every script stand between spaces.

    A run of a script without spaces between words becomes its pairs of neighbouring signs, which needs no dictionary
    and finds any part of the run; a lone sign stays. Other text is not changed. The time is linear.
    """
    return _RUN.sub(_spaced_pairs, text)


def _spaced_pairs(run: re.Match[str]) -> str:
    signs = _SIGN.findall(run[0])
    pairs = [first + second for first, second in pairwise(signs)] or signs
    return f" {' '.join(pairs)} "
