"""From the bytes of a file to its canonical text, in a process of its own."""
