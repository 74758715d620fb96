"""The reranker of a service without one."""

from collections.abc import Sequence


class NullReranker:
    """Keeps the order of every search; implements `app.llm.types.Reranker`."""

    async def rerank(self, question: str, texts: Sequence[str]) -> None:
        """Say nothing of the texts."""

    async def aclose(self) -> None:
        """Hold nothing."""
