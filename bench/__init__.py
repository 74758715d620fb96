"""Measures what the service promises: how fast, how large, how exact, and what survives a kill."""
