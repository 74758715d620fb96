"""How a run of the pipeline can end early."""


class ClaimLostError(Exception):
    """Another worker has claimed this content, or it was deleted: this run must not write any more."""


class PassageRefusedError(Exception):
    """A passage has no usable vector, neither as a whole nor from its parts.

    Attributes:
        page: Number of the page that it begins on.
    """

    def __init__(self, page: int) -> None:
        super().__init__(f"a passage on page {page} could not be embedded")
        self.page = page
