"""What a reader sees of a text."""

import re
import unicodedata

_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"})
# Letters and signs that show nothing: fillers, the empty braille cell, the null notehead, variation selectors, the
# grapheme joiner, and what Unicode keeps free for more of their kind (Default_Ignorable_Code_Point).
_FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U0001d159\U000e0000-\U000e0fff]"
)


def is_visible(text: str) -> bool:
    """Whether a reader sees anything of a text: it has more than white space and characters without a shape."""
    return any(
        not _FILLERS.match(character) and unicodedata.category(character) not in _INVISIBLE_CATEGORIES
        for character in set(text)
    )
