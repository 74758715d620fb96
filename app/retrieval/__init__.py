"""Finds the passages of one workspace that a question is about, as far as the asker may read them."""
