"""The settings of the service, and the only reader of the environment.

Each field is one environment variable of the same name in capitals. Start-up fails with the list of
what is missing or insecure, so that a deployment never runs on a secret that everyone knows.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    AnyHttpUrl,
    Field,
    SecretStr,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


class BlobBackend(StrEnum):
    """Where the original bytes of documents are kept."""

    LOCAL = "local"
    S3 = "s3"


def _psycopg_url(value: SecretStr) -> SecretStr:
    url = value.get_secret_value()
    if not url.startswith(("postgresql://", "postgresql+psycopg://")):
        raise ValueError("must start with postgresql://")
    return SecretStr(url.replace("postgresql://", "postgresql+psycopg://", 1))


def _http_url(value: str) -> str:
    if not value.strip():
        return ""
    try:
        url = _ANY_HTTP_URL.validate_python(value)
    except ValidationError:
        raise ValueError("must be an address that starts with http:// or https://") from None
    if url.username is not None or url.password is not None or url.fragment is not None:
        raise ValueError("must hold no user, no password and no #")
    return str(url)


def _header_value(value: SecretStr) -> SecretStr:
    key = value.get_secret_value().strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ValueError("must be one word of printable ASCII characters")
    return SecretStr(key)


_ANY_HTTP_URL = TypeAdapter(AnyHttpUrl)
DatabaseUrl = Annotated[SecretStr, AfterValidator(_psycopg_url)]
OptionalHttpUrl = Annotated[str, AfterValidator(_http_url)]
HeaderValue = Annotated[SecretStr, AfterValidator(_header_value)]


class Settings(BaseSettings):
    """Everything that an operator may set, with its unit and default."""

    model_config = SettingsConfigDict(env_file=None, extra="ignore", frozen=True)

    # Places
    database_url: DatabaseUrl = Field(description="Postgres as the application role: not a superuser, not the owner.")
    redis_cache_url: SecretStr = Field(description="Redis for answer caches (allkeys-lru); may vanish at any time.")
    redis_limits_url: SecretStr = Field(description="Redis for budgets and limits (noeviction, append-only).")
    blob_backend: BlobBackend = Field(BlobBackend.LOCAL, description="Where original files are kept: local or s3.")
    blob_path: Path = Field(Path("data/blobs"), description="Folder of the local blob store.")
    blob_bucket: str = Field("", description="Bucket name; needed for s3.")
    blob_endpoint: str = Field("", description="Endpoint of an S3-compatible service; empty means AWS.")
    blob_region: str = Field("us-east-1", description="Region of the bucket.")
    blob_access_key_id: SecretStr = Field(SecretStr(""), description="S3 access key; empty uses the ambient one.")
    blob_secret_access_key: SecretStr = Field(SecretStr(""), description="S3 secret key.")
    model_path: Path = Field(Path("data/models"), description="Folder for the converted local embedding model.")

    # Identity: the service verifies tokens and cannot issue them
    oidc_issuer: str = Field(description="Issuer (`iss`) of accepted access tokens, exactly as in the token.")
    oidc_jwks_url: str = Field("", description="Address of the signing keys; empty means discovery at the issuer.")
    oidc_audience: str = Field("urn:groundeddocs:api", description="Audience (`aud`) that a token must carry.")
    oidc_client_id: str = Field("groundeddocs-web", description="Public client id that browsers use.")
    oidc_cli_client_id: str = Field("groundeddocs-cli", description="Public client id of the command line.")
    oidc_algorithms: Annotated[tuple[str, ...], NoDecode] = Field(
        ("RS256",), description="Accepted signature algorithms, comma separated; asymmetric, one family."
    )
    oidc_require_at_jwt: bool = Field(
        default=True, description="Require `typ: at+jwt` (RFC 9068); off for providers without it."
    )
    oidc_token_id_claim: str = Field("jti", description="Claim that names one token: `jti`; Entra ID calls it `uti`.")
    oidc_api_scope: str = Field(
        "",
        description="Scope by which clients ask for this API; empty means that they name the audience as `resource`.",
    )

    # Limits on documents and requests
    max_upload_bytes: int = Field(50 * 1024 * 1024, ge=1, description="Largest file that is accepted, in bytes.")
    max_pages: int = Field(5_000, ge=1, description="Most pages in one document.")
    max_characters: int = Field(20_000_000, ge=1, description="Most characters in one document.")
    max_unpacked_bytes: int = Field(
        512 * 1024 * 1024, ge=1, description="Most bytes that a compressed file, such as DOCX, may unpack to."
    )
    max_passages: int = Field(50_000, ge=1, description="Most passages that one document is cut into.")
    max_question_characters: int = Field(4_000, ge=1, description="Longest question.")
    parse_seconds: int = Field(120, ge=1, description="Processor time that reading one file may take.")
    parse_memory_bytes: int = Field(1024 * 1024 * 1024, ge=1, description="Memory limit of the parsing process.")

    # Models
    openai_api_key: SecretStr = Field(SecretStr(""), description="Key of an OpenAI-compatible service.")
    openai_base_url: str = Field("", description="Address of an OpenAI-compatible service; empty means OpenAI itself.")
    embedding_model: str = Field("", description="Embedding model of that service; empty means the local model.")
    embedding_dimension: int = Field(
        0, ge=0, le=4_000, description="Length of its vectors, checked at the start; 0 takes what the model gives."
    )
    rerank_url: OptionalHttpUrl = Field(
        "",
        description="Whole address of a reranker, such as `https://host/v1/rerank`, which gets questions and passages; "
        "empty means none.",
    )
    rerank_model: str = Field("", description="Model of the reranker; empty for a server that has one only.")
    rerank_api_key: HeaderValue = Field(SecretStr(""), description="Key of the reranker; empty for one without.")
    rerank_timeout_seconds: float = Field(
        3.0, gt=0, le=60, description="Longest wait for the reranker, in seconds; after it a search keeps its order."
    )

    # Processes
    database_pool_size: int = Field(10, ge=1, description="Database connections of one process.")
    worker_concurrency: int = Field(2, ge=1, description="Documents of each size that one worker handles at a time.")
    embedding_threads: int = Field(
        0, ge=0, description="Threads of the local embedding model; 0 takes one a core, up to 8."
    )
    log_level: str = Field("INFO", description="Least severe level that is logged.")

    @field_validator("rerank_model", "rerank_api_key")
    @classmethod
    def _of_a_reranker(cls, value: str | SecretStr, info: ValidationInfo) -> str | SecretStr:
        if value and info.data.get("rerank_url") == "":
            raise ValueError("needs RERANK_URL too")
        return value

    @field_validator("oidc_algorithms", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("oidc_algorithms")
    @classmethod
    def _one_asymmetric_family(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        families = {name[:2] for name in value}
        if len(families) != 1 or not families <= {"RS", "PS", "ES", "Ed"}:
            raise ValueError("must name asymmetric algorithms of one family, for example RS256 or ES256,ES384")
        return value


def load_settings() -> Settings:
    """Read the environment; raise `pydantic.ValidationError` that names every wrong field."""
    return Settings()
