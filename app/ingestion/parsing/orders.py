"""What a worker and its parsing processes tell each other."""

import json
from dataclasses import asdict, dataclass

from app.documents.media_types import MediaType
from app.ingestion.parsing.types import ParseLimits

ORDER_BYTES = 512
"""Length of an order, which stands before the file in what a parser reads."""
EXIT_MEMORY = 70
"""Exit status when memory ran out; there may be none left to say so in words."""
EXIT_DAMAGED = 1
"""Exit status when a file made a library raise something that is not of the known kinds."""
EXIT_NOT_READ = 71
"""Exit status when a file was not read for a reason of ours; the nursery says it too when it can start no parser."""

_BYTES_A_CHARACTER = 8
_BYTES_OF_BOXES = 96 * 1024 * 1024
"""A PDF has at most 64 MiB of boxes, which base64 makes a third longer."""
_BYTES_BESIDE_TEXT = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Order:
    """How a parser shall read the file."""

    media_type: MediaType
    limits: ParseLimits

    def pack(self) -> bytes:
        """Return the order in its fixed length."""
        return json.dumps([self.media_type, asdict(self.limits)]).encode().ljust(ORDER_BYTES)

    @classmethod
    def unpack(cls, raw: bytes) -> "Order":
        """Return the order of these bytes."""
        media_type, limits = json.loads(raw)
        return cls(MediaType(media_type), ParseLimits(**limits))


def answer_bytes(limits: ParseLimits) -> int:
    """Return the most bytes that an answer within the limits can have."""
    return limits.max_characters * _BYTES_A_CHARACTER + _BYTES_OF_BOXES + _BYTES_BESIDE_TEXT
