"""From stored bytes to searchable chunks: parse, chunk, embed, swap in."""
