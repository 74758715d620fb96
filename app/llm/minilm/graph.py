"""Builds the ONNX graph of a BERT sentence encoder from its weights.

Encoder (Devlin et al. 2019), mean over the tokens that are not padding, then L2 norm, all in one graph:
`input_ids`, `attention_mask` (int64, batch x sequence) -> `embedding` (float32, batch x hidden).
Both axes are dynamic. The three projections of attention are one product, since one large product is
quantised and run faster than three small ones; the constant token type is folded into the positions.
"""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from app.llm.minilm.weights import BertShape, Tensors

_OPSET = 20
_IR_VERSION = 10
_MASKED = -10_000.0


class _Graph:
    """Collects nodes and constants; each method returns the name of a result."""

    def __init__(self, tensors: Tensors, shape: BertShape) -> None:
        self.tensors = tensors
        self.shape = shape
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        self.constants[name] = numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def integers(self, *values: int) -> str:
        return self.constant("i_" + "_".join(map(str, values)), np.array(values, dtype=np.int64))

    def node(self, kind: str, *inputs: str, result: str = "", **attributes: Any) -> str:
        name = result or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def linear(self, name: str, source: str, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> str:
        product = self.node("MatMul", source, self.constant(f"{name}.weight", weight.T))
        return self.node("Add", product, self.constant(f"{name}.bias", bias))


def build(tensors: Tensors, shape: BertShape) -> onnx.ModelProto:
    """Return the float32 model.

    Args:
        tensors: Weights under the names of the published checkpoint.
        shape: Sizes of the encoder.
    """
    graph = _Graph(tensors, shape)
    hidden = _embed(graph)
    bias = _attention_bias(graph)
    for layer in range(shape.layers):
        hidden = _layer(graph, f"encoder.layer.{layer}", hidden, bias)
    _pool(graph, hidden)
    return _model(graph)


def _norm(graph: _Graph, name: str, source: str) -> str:
    scale = graph.constant(f"{name}.weight", graph.tensors[f"{name}.weight"])
    shift = graph.constant(f"{name}.bias", graph.tensors[f"{name}.bias"])
    return graph.node("LayerNormalization", source, scale, shift, axis=-1, epsilon=graph.shape.epsilon)


def _embed(graph: _Graph) -> str:
    words = graph.constant("words", graph.tensors["embeddings.word_embeddings.weight"])
    folded = (
        graph.tensors["embeddings.position_embeddings.weight"]
        + graph.tensors["embeddings.token_type_embeddings.weight"][0]
    )
    length = graph.node("Shape", "input_ids", start=1, end=2)
    positions = graph.node("Slice", graph.constant("positions", folded), graph.integers(0), length)
    total = graph.node("Add", graph.node("Gather", words, "input_ids", axis=0), positions)
    return _norm(graph, "embeddings.LayerNorm", total)


def _attention_bias(graph: _Graph) -> str:
    mask = graph.node("Cast", "attention_mask", result="mask", to=TensorProto.FLOAT)
    padding = graph.node("Sub", graph.constant("one", np.array(1, dtype=np.float32)), mask)
    bias = graph.node("Mul", padding, graph.constant("masked", np.array(_MASKED, dtype=np.float32)))
    return graph.node("Unsqueeze", bias, graph.integers(1, 2))


def _layer(graph: _Graph, name: str, source: str, bias: str) -> str:
    attended = _attention(graph, f"{name}.attention", source, bias)
    projected = _dense(graph, f"{name}.attention.output.dense", attended)
    middle = _norm(graph, f"{name}.attention.output.LayerNorm", graph.node("Add", projected, source))
    inner = graph.node("Gelu", _dense(graph, f"{name}.intermediate.dense", middle))
    outer = _dense(graph, f"{name}.output.dense", inner)
    return _norm(graph, f"{name}.output.LayerNorm", graph.node("Add", outer, middle))


def _dense(graph: _Graph, name: str, source: str) -> str:
    return graph.linear(name, source, graph.tensors[f"{name}.weight"], graph.tensors[f"{name}.bias"])


def _attention(graph: _Graph, name: str, source: str, bias: str) -> str:
    size = graph.shape.hidden // graph.shape.heads
    parts = [f"{name}.self.{part}" for part in ("query", "key", "value")]
    weight = np.concatenate([graph.tensors[f"{part}.weight"] for part in parts])
    offset = np.concatenate([graph.tensors[f"{part}.bias"] for part in parts])
    weight[: graph.shape.hidden] /= np.sqrt(size)
    offset[: graph.shape.hidden] /= np.sqrt(size)
    packed = graph.linear(f"{name}.self", source, weight, offset)
    heads = graph.node("Reshape", packed, graph.integers(0, 0, 3, graph.shape.heads, size))
    query, key, value = (_pick(graph, heads, part, order) for part, order in enumerate(("row", "column", "row")))
    scores = graph.node("Add", graph.node("MatMul", query, key), bias)
    mixed = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), value)
    merged = graph.node("Transpose", mixed, perm=[0, 2, 1, 3])
    return graph.node("Reshape", merged, graph.integers(0, 0, graph.shape.hidden))


def _pick(graph: _Graph, heads: str, part: int, order: str) -> str:
    one = graph.node("Gather", heads, graph.constant(f"part_{part}", np.array(part, dtype=np.int64)), axis=2)
    return graph.node("Transpose", one, perm=[0, 2, 1, 3] if order == "row" else [0, 2, 3, 1])


def _pool(graph: _Graph, hidden: str) -> None:
    weights = graph.node("Unsqueeze", "mask", graph.integers(2))
    total = graph.node("ReduceSum", graph.node("Mul", hidden, weights), graph.integers(1), keepdims=0)
    count = graph.node("ReduceSum", "mask", graph.integers(1), keepdims=1)
    mean = graph.node("Div", total, count)
    length = graph.node("ReduceL2", mean, graph.integers(1), keepdims=1)
    graph.node("Div", mean, length, result="embedding")


def _model(graph: _Graph) -> onnx.ModelProto:
    axes = ["batch", "sequence"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, axes) for name in ("input_ids", "attention_mask")]
    output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", graph.shape.hidden])
    body = helper.make_graph(graph.nodes, "sentence_encoder", inputs, [output], list(graph.constants.values()))
    opsets = [helper.make_opsetid("", _OPSET)]
    return helper.make_model(body, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="groundeddocs")
