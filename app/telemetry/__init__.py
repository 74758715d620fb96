"""Logs; traces and metrics will stand beside them."""
