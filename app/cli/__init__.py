"""The command line: starts the parts of the service, and talks to a running one through its API."""
