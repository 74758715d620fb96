"""Whether the embedding model that the services will use can be reached, for `doctor`."""

import asyncio

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.core.errors import UnavailableError
from app.embedded.errors import EmbeddedError
from app.llm.providers.openai_client import open_client
from app.llm.providers.openai_embeddings import OpenAIModels
from app.llm.types import ModelSetupError


class EmbeddingOptions(BaseSettings):
    """What the services read too, as `app.core.config` describes it; the rest of it is only known once all is up."""

    model_config = SettingsConfigDict(env_file=None, extra="ignore", frozen=True, env_ignore_empty=True)

    openai_api_key: SecretStr = SecretStr("")
    openai_base_url: str = ""
    embedding_model: str = ""
    embedding_dimension: int = Field(0, ge=0, le=4_000)


class EmbeddingSetupError(EmbeddedError):
    """The services would refuse to start with this embedding model."""


class EmbeddingAwayError(EmbeddedError):
    """The services would start, and could not search until the model is back."""


def look_at_embedding() -> str | None:
    """Ask the configured model for one vector; return what was found, or None when the local model is used.

    Raises:
        EmbeddingSetupError: It cannot be used the way it is set up.
        EmbeddingAwayError: It is out of reach.
    """
    try:
        options = EmbeddingOptions()
    except ValidationError:
        raise EmbeddingSetupError(
            "EMBEDDING_DIMENSION is no number from 0 to 4000. Set it right, or unset it."
        ) from None
    if not options.embedding_model:
        return None
    if not (options.openai_api_key.get_secret_value() or options.openai_base_url):
        raise EmbeddingSetupError(
            "EMBEDDING_MODEL is set, and no service for it. Set OPENAI_API_KEY or OPENAI_BASE_URL, or unset it."
        )
    return asyncio.run(_ask(options))


async def _ask(options: EmbeddingOptions) -> str:
    models = OpenAIModels(open_client(options.openai_api_key.get_secret_value(), options.openai_base_url))
    embedder = models.embedder(options.embedding_model, options.embedding_dimension)
    try:
        await embedder.embed_query("ready")
    except ModelSetupError as error:
        raise EmbeddingSetupError(error.detail) from error
    except UnavailableError as error:
        raise EmbeddingAwayError(f"{error.detail} Searching works again as soon as it answers.") from error
    finally:
        await models.aclose()
    return f"{options.embedding_model} answers with vectors of {embedder.dimension:,} numbers"
