"""Counting tokens: pure code takes a counter and knows no model."""

from collections.abc import Callable

TokenCounter = Callable[[str], int]
"""Returns how many tokens of some model a text has. Never raises, whatever the text holds."""
