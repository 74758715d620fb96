"""The measurements, one module each. Each starts its own servers and leaves nothing behind."""
