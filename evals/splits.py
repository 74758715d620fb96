"""Divides questions into one half to tune on and one for the figures, the same on every machine."""

from hashlib import sha256


def in_half(question_id: str, half: str) -> bool:
    """Tell whether a question belongs to a half.

    Args:
        question_id: Its id in the set.
        half: `tuning` or `held-out`.
    """
    is_tuning = sha256(question_id.encode()).digest()[0] % 2 == 0
    return is_tuning == (half == "tuning")
