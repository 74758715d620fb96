"""How a run of the pipeline can end early."""


class ClaimLostError(Exception):
    """Another worker has claimed this content, or it was deleted: this run must not write any more."""
