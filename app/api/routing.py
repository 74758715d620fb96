"""How routes of signed-in callers treat a request before anything of it is read."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from app.api.dependencies import current_principal, current_services


class TokenBeforeBody(APIRoute):
    """A route that reads no body of a caller without a valid token.

    The framework alone would first keep a file, or complain about the JSON of somebody who may not even ask.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with the look at the token before it."""
        handle = super().get_route_handler()

        async def handle_with_token(request: Request) -> Response:
            await current_principal(request, current_services(request), None)
            return await handle(request)

        return handle_with_token
