"""The SQL statements of retrieval."""
