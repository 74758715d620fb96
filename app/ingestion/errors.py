"""How a run of the pipeline can end early."""

from app.core.errors import UnavailableError


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


class OutageError(UnavailableError):
    """A part that a run needs is away, through no fault of the file; `detail` tells its owner what it waits for.

    It is raised from the error of that part.
    """

    def __init__(self, part: str) -> None:
        super().__init__(f"Waiting for {part}, which is away or not usable. It goes on by itself.")
