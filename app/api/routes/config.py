"""What a client needs before anybody is signed in."""

from fastapi import APIRouter

from app.api.dependencies import CurrentServices
from app.api.schemas.identity import ConfigRead, LimitsRead
from app.documents.media_types import MediaType

router = APIRouter(prefix="/v1", tags=["service"])

_FEATURES = ["documents", "search", "ask", "streaming"]


@router.get("/config")
async def get_config(services: CurrentServices) -> ConfigRead:
    """Return the public configuration: where to sign in, and what is accepted."""
    settings = services.settings
    return ConfigRead(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        cli_client_id=settings.oidc_cli_client_id,
        audience=settings.oidc_audience,
        api_scope=settings.oidc_api_scope,
        limits=LimitsRead(
            max_upload_bytes=settings.max_upload_bytes,
            max_pages=settings.max_pages,
            max_question_characters=settings.max_question_characters,
        ),
        formats=[media_type.value for media_type in MediaType],
        features=_FEATURES,
    )
