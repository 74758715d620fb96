"""Reads what a reranker answers. Nothing in it is taken on trust."""

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from app.core.errors import UnavailableError


class _Result(BaseModel):
    model_config = ConfigDict(strict=True)

    index: int
    relevance_score: float = Field(
        allow_inf_nan=False, validation_alias=AliasChoices("relevance_score", "score")
    )  # `score` with Text Embeddings Inference


class _Reply(BaseModel):
    results: list[_Result]


# The usual reply, and that of Text Embeddings Inference.
_REPLY: TypeAdapter[_Reply | list[_Result]] = TypeAdapter(_Reply | list[_Result])


def read_scores(content: bytes, expected_count: int) -> tuple[float, ...]:
    """Return the scores in the order of the texts that were sent, whatever the order of the reply.

    Args:
        content: The body of the reply.
        expected_count: How many texts were sent.

    Raises:
        UnavailableError: The reply is no JSON of this shape, or does not hold one finite score for each text.
    """
    try:
        reply = _REPLY.validate_json(content)
    except ValidationError:  # its message holds parts of the reply
        raise UnavailableError("The reranker answered something else than finite scores.") from None
    results = reply.results if isinstance(reply, _Reply) else reply
    by_index = {result.index: result.relevance_score for result in results}
    if len(results) != expected_count or by_index.keys() != set(range(expected_count)):
        raise UnavailableError(f"The reranker did not answer with one score for each of {expected_count} texts.")
    return tuple(by_index[index] for index in range(expected_count))
