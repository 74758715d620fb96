"""The converted model against the published weights: files are read, nothing is fetched."""

import asyncio
import math
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer

from app.core.errors import ConfigurationError
from app.llm import embeddings
from app.llm.embeddings import LocalEmbedder
from app.llm.minilm import store
from app.llm.minilm.convert import convert_exact
from app.llm.minilm.weights import BertShape, Tensors, published_folder, read_tensors

TEXTS = (
    "Timer T3410 is started when the attach request is sent.",
    "The harvest in the northern valleys was late that year, and the mills stood idle until October.",
    "Passwords are stored with an approved key derivation function and a salt that is unique to each user.",
    "Revenue for the third quarter was $90.1 billion, up 8 percent year over year.",
)
Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def embedder(model_folder: Path) -> Iterator[LocalEmbedder]:
    embedder = LocalEmbedder.load(model_folder, threads=2)
    yield embedder
    embedder.close()


def _norm(tensors: Tensors, name: str, rows: Floats) -> Floats:
    centred = rows - rows.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
    return np.asarray(scaled * tensors[f"{name}.weight"] + tensors[f"{name}.bias"])


def _dense(tensors: Tensors, name: str, rows: Floats) -> Floats:
    return np.asarray(rows @ tensors[f"{name}.weight"].T.astype(np.float64) + tensors[f"{name}.bias"])


def _reference(tensors: Tensors, shape: BertShape, ids: list[int]) -> Floats:
    """BERT as its paper has it, in plain numpy and float64, one text without padding."""
    rows = tensors["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    rows += tensors["embeddings.position_embeddings.weight"][: len(ids)]
    rows += tensors["embeddings.token_type_embeddings.weight"][0]
    rows = _norm(tensors, "embeddings.LayerNorm", rows)
    size = shape.hidden // shape.heads
    for layer in range(shape.layers):
        name = f"encoder.layer.{layer}"
        query, key, value = (
            _dense(tensors, f"{name}.attention.self.{part}", rows) for part in ("query", "key", "value")
        )
        heads = []
        for head in range(shape.heads):
            part = slice(head * size, (head + 1) * size)
            scores = np.exp(query[:, part] @ key[:, part].T / math.sqrt(size))
            heads.append(scores / scores.sum(axis=-1, keepdims=True) @ value[:, part])
        mixed = _dense(tensors, f"{name}.attention.output.dense", np.concatenate(heads, axis=-1))
        rows = _norm(tensors, f"{name}.attention.output.LayerNorm", mixed + rows)
        inner = _dense(tensors, f"{name}.intermediate.dense", rows)
        inner *= 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        rows = _norm(tensors, f"{name}.output.LayerNorm", _dense(tensors, f"{name}.output.dense", inner) + rows)
    mean = rows.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


def test_exact_graph_equals_a_plain_forward_pass_also_with_padding(tmp_path: Path) -> None:
    source = published_folder()
    convert_exact(source, tmp_path / "exact.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "exact.onnx", providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    tokenizer.enable_padding()
    encodings = tokenizer.encode_batch(TEXTS[:2])
    arrays = {
        "input_ids": np.array([encoding.ids for encoding in encodings]),
        "attention_mask": np.array([encoding.attention_mask for encoding in encodings]),
    }
    (vectors,) = session.run(["embedding"], arrays)
    tensors, shape = read_tensors(source / "model.safetensors"), BertShape.read(source / "config.json")
    for vector, encoding in zip(vectors, encodings, strict=True):
        expected = _reference(tensors, shape, encoding.ids[: sum(encoding.attention_mask)])
        assert np.abs(vector - expected).max() < 1e-5


async def test_int8_vectors_stay_close_to_the_exact_ones(embedder: LocalEmbedder) -> None:
    source = published_folder()
    tensors, shape = read_tensors(source / "model.safetensors"), BertShape.read(source / "config.json")
    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    tokenizer.no_padding()
    vectors = await embedder.embed_passages(TEXTS)
    for vector, text in zip(vectors, TEXTS, strict=True):
        assert float(vector @ _reference(tensors, shape, tokenizer.encode(text).ids)) > 0.97


async def test_passages_come_back_in_order_as_unit_vectors(embedder: LocalEmbedder) -> None:
    texts = [f"{TEXTS[n % 4]} Note {n}." for n in range(21)]
    vectors = await embedder.embed_passages(texts)
    assert vectors.shape == (21, embedder.dimension)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for n in (0, 7, 8, 20):
        assert np.array_equal(vectors[n], await embedder.embed_query(texts[n]))


async def test_related_texts_are_nearer_than_unrelated_ones(embedder: LocalEmbedder) -> None:
    query = await embedder.embed_query("How must passwords be saved?")
    assert int(np.argmax(await embedder.embed_passages(TEXTS) @ query)) == 2


@pytest.mark.parametrize(
    "text", ["", "\ud800", "\x00", "a" * 5_000_000, "word " * 300_000, "[SEP] [CLS]", "\u202e\ufb01"]
)
async def test_any_text_gets_a_finite_vector(embedder: LocalEmbedder, text: str) -> None:
    assert np.isfinite(await embedder.embed_query(text)).all()


async def test_no_passages_give_an_empty_matrix(embedder: LocalEmbedder) -> None:
    assert (await embedder.embed_passages([])).shape == (0, embedder.dimension)


def test_tokens_are_counted_beyond_the_limit_and_special_ones_as_text(embedder: LocalEmbedder) -> None:
    assert embedder.count_tokens("word " * 1_000) == 1_000
    assert embedder.count_tokens("[SEP]") == 3
    assert embedder.count_tokens("\ud800") >= 0


async def test_a_question_does_not_wait_for_all_passages(embedder: LocalEmbedder) -> None:
    passages = asyncio.create_task(embedder.embed_passages([TEXTS[1] * 8] * 60))
    await asyncio.sleep(0)
    await embedder.embed_query("short")
    assert not passages.done()
    await passages


@pytest.mark.parametrize(("asked", "cores", "expected"), [(0, 2, 2), (0, 64, 8), (3, 1, 3)])
def test_threads_are_those_asked_for_or_as_many_as_cores(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch, asked: int, cores: int, expected: int
) -> None:
    monkeypatch.setattr(embeddings, "usable_cores", lambda: cores)
    embedder = LocalEmbedder.load(model_folder, asked)
    assert embedder._turns._value == expected
    embedder.close()


def test_conversion_runs_once_for_simultaneous_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Path] = []

    def record(_source: Path, target: Path) -> None:
        runs.append(target)
        target.write_bytes(b"network")

    monkeypatch.setattr(store, "_run_converter", record)
    threads = [threading.Thread(target=store.ensure_model, args=(tmp_path,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runs) == 1
    assert {path.suffix for path in tmp_path.iterdir()} == {".lock", ".onnx"}


def test_damaged_weights_are_reported_and_leave_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "config.json").write_text((published_folder() / "config.json").read_text())
    (source / "model.safetensors").write_bytes(struct.pack("<Q", 2**60) + b"{}")
    monkeypatch.setattr(store, "published_folder", lambda: source)
    with pytest.raises(ConfigurationError, match="damaged"):
        store.ensure_model(tmp_path / "models")
    assert not list((tmp_path / "models").glob("*.onnx"))
