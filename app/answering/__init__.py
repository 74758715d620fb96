"""Answers only with verified quotes, or says why there is no answer."""
