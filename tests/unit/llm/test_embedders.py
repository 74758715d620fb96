import asyncio

import pytest

from app.core.errors import ConfigurationError, UnavailableError
from app.llm.embedders import EmbedderChoice, Embedders, EmbeddingState, NotOfferedError
from app.llm.types import Embedder, ModelSetupError, Vectors
from tests.support.embedder import HashEmbedder


class Other(HashEmbedder):
    model_id = "other-384"


class Broken(HashEmbedder):
    """Raises what it is given, and counts how often it is asked."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.asked = 0

    async def embed_query(self, text: str) -> Vectors:  # noqa: ARG002 - the seam has it
        self.asked += 1
        await asyncio.sleep(0)
        raise self.error


class Server:
    def __init__(self) -> None:
        self.model = Other()
        self.closed = False

    def of(self, model_id: str) -> Embedder | None:
        return self.model if model_id == self.model.model_id else None

    async def aclose(self) -> None:
        self.closed = True


def test_the_local_model_is_configured_unless_another_is() -> None:
    local, other = HashEmbedder(), Other()
    assert Embedders(local).configured is local
    assert Embedders(local, other).configured is other
    assert Embedders(local, other).local is local


def test_stored_vectors_are_served_by_their_own_model() -> None:
    local, other = HashEmbedder(), Other()
    embedders = Embedders(local, other)
    assert embedders.of("hash-384") is local
    assert embedders.of("other-384") is other


def test_a_model_of_the_server_serves_while_another_is_configured() -> None:
    server = Server()
    assert Embedders(HashEmbedder(), server=server).of("other-384") is server.model


def test_a_model_that_cannot_be_run_is_named() -> None:
    with pytest.raises(UnavailableError, match="openai:gone:3"):
        Embedders(HashEmbedder()).of("openai:gone:3")


async def test_closing_closes_the_server_too() -> None:
    server = Server()
    await Embedders(HashEmbedder(), server=server).aclose()
    assert server.closed


async def test_a_wrong_setup_is_an_error_of_configuration_and_others_are_not() -> None:
    with pytest.raises(ConfigurationError, match="no such key"):
        await Embedders(HashEmbedder(), Broken(ModelSetupError("no such key"))).check()
    with pytest.raises(UnavailableError, match="away"):
        await Embedders(HashEmbedder(), Broken(UnavailableError("away"))).check()


async def test_many_checks_ask_the_model_once() -> None:
    broken = Broken(UnavailableError("away"))
    embedders = Embedders(HashEmbedder(), broken)
    found = await asyncio.gather(*(embedders.check() for _ in range(50)), return_exceptions=True)
    assert all(isinstance(error, UnavailableError) for error in found)
    assert broken.asked == 1


DEFAULT, LOCAL, REMOTE = EmbedderChoice


class Unanswered(Other):
    """Has not told the length of its vectors yet."""

    @property
    def model_id(self) -> str:  # type: ignore[override]  # the seam has a property, the doubles a constant
        raise UnavailableError("not answered yet")


def test_the_choices_are_offered_with_the_models_that_are_known() -> None:
    assert Embedders(HashEmbedder()).offered() == {DEFAULT: "hash-384", LOCAL: "hash-384"}
    assert Embedders(HashEmbedder(), Other()).offered() == {
        DEFAULT: "other-384",
        LOCAL: "hash-384",
        REMOTE: "other-384",
    }
    assert Embedders(HashEmbedder(), Unanswered()).offered() == {DEFAULT: None, LOCAL: "hash-384", REMOTE: None}


def test_a_remote_embedder_is_never_replaced_by_the_local_one() -> None:
    with pytest.raises(NotOfferedError, match="EMBEDDING_MODEL"):
        Embedders(HashEmbedder(), server=Server()).chosen(REMOTE)


@pytest.mark.parametrize(
    ("choice", "serving", "passages", "questions"),
    [
        (DEFAULT, "", "other-384", "hash-384"),
        (DEFAULT, "hash-384", "hash-384", "hash-384"),
        (DEFAULT, "other-384", "other-384", "other-384"),
        (REMOTE, "", "other-384", "hash-384"),
        (REMOTE, "hash-384", "hash-384", "hash-384"),
        (REMOTE, "other-384", "other-384", "other-384"),
        (LOCAL, "", "hash-384", "hash-384"),
        (LOCAL, "hash-384", "hash-384", "hash-384"),
        (LOCAL, "other-384", "hash-384", "hash-384"),
        (LOCAL, "openai:gone:3", "hash-384", "hash-384"),
    ],
)
def test_texts_are_embedded_by_what_serves_unless_they_may_not_leave(
    choice: EmbedderChoice, serving: str, passages: str, questions: str
) -> None:
    embedders, state = Embedders(HashEmbedder(), Other()), EmbeddingState(choice, serving)
    assert embedders.for_passages(state).model_id == passages
    assert embedders.for_questions(state).model_id == questions


@pytest.mark.parametrize("choice", [DEFAULT, REMOTE])
def test_a_serving_model_that_cannot_be_run_is_named(choice: EmbedderChoice) -> None:
    embedders, state = Embedders(HashEmbedder(), Other()), EmbeddingState(choice, "openai:gone:3")
    for find in (embedders.for_passages, embedders.for_questions):
        with pytest.raises(UnavailableError, match="openai:gone:3"):
            find(state)
