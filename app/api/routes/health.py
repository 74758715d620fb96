"""Whether the process lives, whether it can serve, and what it is."""

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from starlette.responses import Response

from app.api.readiness import ReadinessProbe
from app.api.schemas.identity import ReadinessRead

router = APIRouter(tags=["health"])

_ABOUT = """\
GroundedDocs answers questions about your documents with exact, verified quotes, or says that it cannot.

Interface:   /v1/openapi.json
Next:        groundeddocs login
Then:        groundeddocs upload FILE, and groundeddocs ask "..."
"""


@router.get("/", response_class=PlainTextResponse)
async def about() -> str:
    """Say what this is and what to do next."""
    return _ABOUT


@router.get("/healthz", response_class=PlainTextResponse)
async def healthz() -> str:
    """Answer as long as the process runs; looks at nothing else."""
    return "ok\n"


@router.get("/readyz", responses={503: {"model": ReadinessRead}})
async def readyz(request: Request, response: Response) -> ReadinessRead:
    """Check the database role, the schema version and the policies of both Redis servers."""
    probe: ReadinessProbe = request.app.state.readiness
    found = await probe.readiness()
    response.status_code = 200 if found.ready else 503
    return ReadinessRead(status="ready" if found.ready else "not_ready", checks=dict(found.checks))
