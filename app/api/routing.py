"""How routes of signed-in callers treat a request before anything of it is read."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from app.api.dependencies import current_principal, current_services
from app.documents.storage import not_kept


class TokenBeforeBody(APIRoute):
    """A route that reads no body of a caller without a valid token, and tells a full disk from a broken body.

    The framework alone would first keep a file, or complain about the JSON of somebody who may not even ask. And it
    says of all that goes wrong while it reads a body that the client made it wrong.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with the look at the token before it."""
        handle = super().get_route_handler()

        async def handle_with_token(request: Request) -> Response:
            await current_principal(request, current_services(request), None)
            try:
                return await handle(request)
            except HTTPException as error:
                # The one system that the framework uses meanwhile is the folder where it keeps files of a form.
                if isinstance(error.__cause__, OSError):
                    raise not_kept(error.__cause__) from error
                raise

        return handle_with_token
