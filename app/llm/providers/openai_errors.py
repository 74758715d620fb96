"""What the errors of the openai library mean for us: one table, used by every adapter that speaks to such a server.

No message of the library is passed on, and no error is chained: they quote the text that was sent and parts of the key.
"""

import re
from types import MappingProxyType

from openai import APIConnectionError, APIStatusError, APITimeoutError, OpenAIError

from app.core.errors import AppError, UnavailableError
from app.llm.types import ModelSetupError

_CODE = re.compile(r"[a-z][a-z0-9_]{1,39}")
_KEY = "The model service refuses the key ({status}). An operator has to check OPENAI_API_KEY."
_PLACE = (
    "The model service does not know the model or the address ({status}). "
    "An operator has to check EMBEDDING_MODEL and OPENAI_BASE_URL."
)
_SETUP = MappingProxyType({401: _KEY, 402: _KEY, 403: _KEY, 404: _PLACE, 405: _PLACE})
_INPUT = frozenset({400, 413, 422})


class BadInputError(Exception):
    """The server refuses what a request holds; stays inside the adapters.

    Args:
        status: The words for its status and code.
    """

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


def translated(error: OpenAIError) -> AppError | BadInputError:
    """Return the error that the rest of the service knows."""
    if isinstance(error, APITimeoutError):
        return UnavailableError("The model service did not answer in time.")
    if isinstance(error, APIConnectionError):
        return UnavailableError("The model service is out of reach.")
    if not isinstance(error, APIStatusError):
        return UnavailableError("The model service could not be asked.")
    status = _words(error)
    if error.status_code in _INPUT:
        return BadInputError(status)
    if wrong := _SETUP.get(error.status_code):
        return ModelSetupError(wrong.format(status=status))
    return UnavailableError(f"The model service cannot take the request now ({status}).")


def _words(error: APIStatusError) -> str:
    """Return the status, and the code when it is a plain word; a server can put anything there."""
    code = error.code or ""
    return f"{error.status_code}, {code}" if _CODE.fullmatch(code) else str(error.status_code)
