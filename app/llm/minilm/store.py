"""Keeps the converted model on disk: made once, whole or not at all, whoever asks first."""

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import ConfigurationError
from app.llm.minilm.weights import digest, published_folder

CONVERTER_VERSION = "1"
"""Part of the model's id. Raise it when the same weights would give other vectors."""

_NAME = "all-MiniLM-L6-v2-int8"
_CONVERSION_SECONDS = 300


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model that is ready to be loaded.

    Attributes:
        model_id: Name of the vectors it makes.
        network: The ONNX file.
        tokenizer: The `tokenizer.json` that belongs to it.
    """

    model_id: str
    network: Path
    tokenizer: Path


def ensure_model(folder: Path) -> ModelFiles:
    """Return the converted model, and convert it first when it is not there (about 10 s, blocking).

    Args:
        folder: Where converted models are kept; made if missing.

    Raises:
        ConfigurationError: The weights are missing or damaged, or the folder cannot be written.
    """
    source = published_folder()
    model_id = f"{_NAME}-{digest(source / 'model.safetensors')[:10]}-{CONVERTER_VERSION}"
    network = folder / f"{model_id}.onnx"
    if not network.exists():
        _convert(source, network)
    return ModelFiles(model_id, network, source / "tokenizer.json")


def _convert(source: Path, network: Path) -> None:
    try:
        network.parent.mkdir(parents=True, exist_ok=True)
        with _alone(network.parent / ".convert.lock"):
            if network.exists():
                return
            partial = network.with_suffix(".partial")
            _run_converter(source, partial)
            partial.replace(network)
    except OSError as error:
        raise ConfigurationError(f"The model folder {network.parent} cannot be used: {error.strerror}.") from error


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock among processes; the system frees it when its holder dies."""
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run_converter(source: Path, target: Path) -> None:
    command = [sys.executable, "-m", "app.llm.minilm.convert", str(source), str(target)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_CONVERSION_SECONDS)
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ConfigurationError(f"The embedding model could not be converted: {last[:300]}") from error
    except subprocess.TimeoutExpired as error:
        raise ConfigurationError(f"Converting the embedding model took over {_CONVERSION_SECONDS} s.") from error
