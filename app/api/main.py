"""The web application, made from services that somebody else opened and will close."""

from importlib import metadata

from fastapi import FastAPI
from fastapi.routing import APIRoute

from app.api import errors
from app.api.middleware import BodyLimitMiddleware, BodyPaceMiddleware, RequestMiddleware
from app.api.openapi import Api
from app.api.readiness import SPARED, ReadinessProbe, service_checks
from app.api.routes import (
    answers,
    ask,
    chunks,
    config,
    dead_letters,
    documents,
    health,
    invitations,
    me,
    search,
    workspaces,
)
from app.bootstrap import Services

_SILENT_SECONDS = 30.0
"""How long nothing may come of a body: longer than a mobile connection changes cells, short for who holds slots."""
_ROUTERS = (
    health.router,
    config.router,
    me.router,
    workspaces.router,
    invitations.router,
    documents.router,
    dead_letters.router,
    ask.router,
    answers.router,
    search.router,
    chunks.router,
)


def create_app(services: Services) -> FastAPI:
    """Return the application over these services; it opens and closes nothing itself."""
    api = Api(
        title="GroundedDocs",
        version=metadata.version("groundeddocs"),
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # the redirect would lead to whatever host the client names
        generate_unique_id_function=_operation_id,
        responses=errors.problems(422, 500),
    )
    api.state.services = services
    checks = service_checks(services.database.engine, services.redis, services.embedders)
    api.state.readiness = ReadinessProbe(checks, spared=SPARED)
    api.add_middleware(BodyLimitMiddleware, max_upload_bytes=services.settings.max_upload_bytes)
    api.add_middleware(BodyPaceMiddleware, silent_seconds=_SILENT_SECONDS)
    api.add_middleware(RequestMiddleware)  # added last, so that it is the outermost
    errors.install(api)
    for router in _ROUTERS:
        api.include_router(router)
    return api


def _operation_id(route: APIRoute) -> str:
    """Clients are generated from the names of the functions: renaming one is a change of the contract."""
    return route.name
