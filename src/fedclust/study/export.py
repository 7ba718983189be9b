"""A model in other libraries' formats: ONNX for any language, skops for scikit-learn."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..clustering.model import Model
from ..core import ConfigError
from ..core.files import write_atomically

_OPSET = 17


def export(model: Model, target: Path) -> None:
    """Write the model in the format that the suffix of the file names."""
    if target.suffix not in _FORMATS:
        raise ConfigError(
            f"{target}: unknown format; models are exported to {' or '.join(_FORMATS)} files"
        )
    content = _FORMATS[target.suffix](model, target)
    write_atomically(target, lambda file: file.write(content))


def _onnx(model: Model, target: Path) -> bytes:
    """A graph from the columns' own values to the cluster's number, and memberships if fuzzy.

    Missing values must be filled by the caller unless the model fills them. Categories are given
    as columns of zeros and ones.
    """
    try:
        import onnx
    except ImportError:
        raise ConfigError(f"{target}: needs onnx: pip install 'fedclust[export]'") from None
    graph = _Graph(onnx)
    rows = graph.prepare(model)
    distances = graph.distances(rows, model)
    place = graph.node("ArgMin", distances, axis=1, keepdims=0)
    numbers = graph.constant("numbers", np.array(model.ids, dtype=np.int64))
    outputs = [
        graph.output("cluster", graph.node("Gather", numbers, place), onnx.TensorProto.INT64)
    ]
    if model.fuzzifier is not None:
        shared = graph.memberships(distances, model.fuzzifier)
        outputs.append(graph.output("membership", shared, onnx.TensorProto.DOUBLE, len(model.ids)))
    made = graph.model(len(model.preparation.names), outputs)
    made.doc_string = f"fedclust {model.algorithm}: columns {', '.join(model.preparation.names)}"
    onnx.checker.check_model(made)
    content: bytes = made.SerializeToString()
    return content


class _Graph:
    """A list of nodes; each method adds some and returns the name of their output."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, name: str, values: Any) -> str:
        self._constants.append(self._onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, kind: str, *inputs: str, **settings: Any) -> str:
        name = f"{kind}_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(kind, list(inputs), [name], **settings))
        return name

    def output(self, name: str, computed: str, kind: int, width: int | None = None) -> Any:
        self._nodes.append(self._onnx.helper.make_node("Identity", [computed], [name]))
        shape = [None] if width is None else [None, width]
        return self._onnx.helper.make_tensor_value_info(name, kind, shape)

    def prepare(self, model: Model) -> str:
        ready = model.preparation
        rows = "X"
        logs = [column.log for column in ready.columns for _ in column.encoded_names]
        if any(logs):
            chosen = self.constant("log", np.array(logs))
            one = self.constant("one", np.array(1.0))
            taken = self.node("Log", self.node("Where", chosen, rows, one))
            rows = self.node("Where", chosen, taken, rows)
        if ready.fill is not None:
            missing = self.node("IsNaN", rows)
            rows = self.node("Where", missing, self.constant("fill", ready.fill), rows)
        moved = self.node("Sub", rows, self.constant("offset", ready.offset))
        return self.node("Div", moved, self.constant("scale", ready.scale))

    def distances(self, rows: str, model: Model) -> str:
        """Squared distances, (n, C), from differences, which lose no digits."""
        wide = self.node("Unsqueeze", rows, self.constant("axis", np.array([1])))
        apart = self.node("Sub", wide, self.constant("centers", model.centers[None]))
        squares = self.node("Mul", apart, apart)
        return self.node("ReduceSum", squares, self.constant("last", np.array([2])), keepdims=0)

    def memberships(self, distances: str, fuzzifier: float) -> str:
        """Memberships from ratios to the least distance; a row on a centre belongs to it alone."""
        nearest = self.node("ReduceMin", distances, axes=[1], keepdims=1)
        least = self.constant("least", np.array(1e-300))
        ratio = self.node(
            "Div", self.node("Max", nearest, least), self.node("Max", distances, least)
        )
        weight = self.node("Pow", ratio, self.constant("power", np.array(1 / (fuzzifier - 1))))
        total = self.node("ReduceSum", weight, self.constant("rows", np.array([1])), keepdims=1)
        return self.node("Div", weight, total)

    def model(self, width: int, outputs: list[Any]) -> Any:
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        given = helper.make_tensor_value_info("X", kinds.DOUBLE, [None, width])
        graph = helper.make_graph(self._nodes, "fedclust", [given], outputs, self._constants)
        opset = [helper.make_opsetid("", _OPSET)]
        return helper.make_model(graph, opset_imports=opset, ir_version=8)


def _skops(model: Model, target: Path) -> bytes:
    """A pipeline of scikit-learn classes, which can be loaded without fedclust."""
    try:
        import skops.io
    except ImportError:
        raise ConfigError(f"{target}: needs skops: pip install 'fedclust[export]'") from None
    content: bytes = skops.io.dumps(as_pipeline(model, target))
    return content


def as_pipeline(model: Model, target: Path) -> Any:
    """StandardScaler and KMeans with the model's values; labels are positions in its ids."""
    from sklearn.cluster import KMeans
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    ready = model.preparation
    if model.fuzzifier is not None:
        raise ConfigError(f"{target}: scikit-learn has no fuzzy c-means; export to .onnx instead")
    if any(column.log for column in ready.columns) or ready.fill is not None:
        raise ConfigError(
            f"{target}: logarithms and filled missing values cannot be exported to skops; use .onnx"
        )
    both = np.vstack([ready.offset - ready.scale, ready.offset + ready.scale])
    scaler = StandardScaler().fit(both)  # two rows that have this mean and spread
    scaler.mean_, scaler.scale_, scaler.var_ = ready.offset, ready.scale, ready.scale**2
    means = KMeans(len(model.ids), init=model.centers, n_init=1, max_iter=1).fit(model.centers)
    means.cluster_centers_ = model.centers
    means.labels_ = np.arange(len(model.ids), dtype=np.int32)
    return make_pipeline(scaler, means)


_FORMATS: dict[str, Callable[[Model, Path], bytes]] = {".onnx": _onnx, ".skops": _skops}
