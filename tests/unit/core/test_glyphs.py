import pytest

from app.core.glyphs import is_visible


@pytest.mark.parametrize("text", ["a", "\u200ba", ".", "\u0301", "\U0001f600", "\u2801", "\ufffd"])
def test_a_sign_with_a_shape_is_seen(text: str) -> None:
    assert is_visible(text)


@pytest.mark.parametrize(
    "text", ["", " \t\n", "\u200b\u2060", "\u2800", "\u3164", "\uffa0", "\u2065", "\U0001d159", "\U000e0fff"]
)
def test_signs_without_a_shape_are_not(text: str) -> None:
    assert not is_visible(text)
