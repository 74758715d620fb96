"""The attacks, one module for each family."""
