"""Values, settings and errors that every other package may use; nothing here does I/O."""
