"""Postgres: engine, scoped transactions, tables and migrations."""
