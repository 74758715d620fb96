"""What can go wrong while the embedded set starts, runs or stops."""

from app.core.errors import ConfigurationError


class EmbeddedError(ConfigurationError):
    """A part of the embedded set cannot be started or kept running; the text says what to do."""

    code, title = "embedded", "Embedded services"


class AlreadyRunningError(EmbeddedError):
    """Another supervisor uses the same data folder."""

    code = "already_running"


class MissingProgramError(EmbeddedError):
    """A server program that a part needs is not on this machine in a version that fits."""

    code = "missing_program"


class PortTakenError(EmbeddedError):
    """The asked-for port belongs to another program."""

    code = "port_taken"


class FolderError(EmbeddedError):
    """The data folder cannot be used by one of the parts."""

    code = "folder"


class PartFailedError(EmbeddedError):
    """A part did not come up, or ended more often than the supervisor restarts it."""

    code = "part_failed"
