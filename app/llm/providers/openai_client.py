"""The connection to an OpenAI-compatible server."""

from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout

_OPENAI = "https://api.openai.com/v1"
_CONNECT_SECONDS = 5.0
_SILENCE_SECONDS = 60.0
_NO_KEY = "none"
"""Servers on the own machine need no key, and the library insists on one."""


def open_client(api_key: str, base_url: str) -> AsyncOpenAI:
    """Return a client without retries: the job queue owns those of ingestion, the caller those of a question.

    Redirects are not followed, so that texts and the key go to the address that an operator set and nowhere else.

    Args:
        api_key: The key; empty for a server without one.
        base_url: Address of the server, up to and with `/v1`; empty means OpenAI itself.
    """
    timeout = Timeout(_SILENCE_SECONDS, connect=_CONNECT_SECONDS)
    return AsyncOpenAI(
        api_key=api_key or _NO_KEY,
        base_url=base_url or _OPENAI,
        max_retries=0,
        timeout=timeout,
        http_client=DefaultAsyncHttpxClient(timeout=timeout, follow_redirects=False),
    )
