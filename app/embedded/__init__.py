"""Everything on one machine: Postgres, Redis, identity provider, worker and api under one supervisor."""
