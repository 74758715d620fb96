"""From a bearer token to a proven `Principal`; nothing here can issue a token."""
