"""SQL over the queue's own tables."""
