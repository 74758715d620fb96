"""Embedding models of this machine and of others."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the local model is converted to, once for all tests."""
    return tmp_path_factory.mktemp("models")
