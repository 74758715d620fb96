"""Answer caches in Redis. They save money and may vanish: every error here is a miss."""
