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


class WaitsError(UnavailableError):
    """A run cannot go on now, through no fault of the file; `detail` tells its owner what it waits for."""


class OutageError(WaitsError):
    """A part that a run needs is away; raised from the error of that part."""

    def __init__(self, part: str) -> None:
        super().__init__(f"Waiting for {part}, which is away or not usable. It goes on by itself.")


class ModelChangeError(WaitsError):
    """The workspace has left a model of a server, and that one still serves: it gets no text of a new file any more."""

    def __init__(self) -> None:
        super().__init__(
            "Waiting until all documents of this workspace are embedded by the local embedder. It goes on by itself."
        )
