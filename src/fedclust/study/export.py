"""A model in other libraries' formats: ONNX for any language, skops for scikit-learn.

Both give the cluster numbers of the run, which may skip numbers after --match-run.
"""

import json
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

    Categories are given as columns of zeros and ones. A row with a missing value that the model
    does not fill has the cluster -1 and no memberships.
    """
    if model.density is not None:
        raise ConfigError(
            f"{target}: a mixture cannot be exported yet; label new rows with fedclust label"
        )
    try:
        import onnx
    except ImportError:
        raise ConfigError(f"{target}: needs onnx: pip install 'fedclust[export]'") from None
    graph = _Graph(onnx)
    rows = graph.prepare(model)
    missing = graph.missing_rows(rows, partial=model.preparation.partial)
    distances = graph.distances(rows, model)
    place = graph.node("ArgMin", distances, axis=1, keepdims=0)
    numbers = graph.constant("numbers", np.array(model.ids, dtype=np.int64)[model.known])
    none = graph.constant("none", np.array([-1]))
    number = graph.node("Gather", numbers, place)
    number = graph.node("Where", graph.node("Squeeze", missing, "axis"), none, number)
    outputs = [graph.output("cluster", number, onnx.TensorProto.INT64)]
    if model.fuzzifier is not None:
        shared = graph.memberships(distances, model.fuzzifier)
        shared = graph.node("Where", missing, graph.constant("unknown", np.array(np.nan)), shared)
        outputs.append(
            graph.output("membership", shared, onnx.TensorProto.DOUBLE, len(model.known))
        )
    made = graph.model(model.preparation.names, outputs)
    made.doc_string = f"Clusters of fedclust ({model.algorithm})"
    clusters = [model.ids[c] for c in model.known]
    properties = {"columns": model.preparation.names, "clusters": clusters}
    onnx.helper.set_model_props(made, {name: json.dumps(v) for name, v in properties.items()})
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

    def missing_rows(self, rows: str, *, partial: bool) -> str:
        """Whether each row has a missing value, or no value at all if rows are partial, (n, 1)."""
        self.constant("axis", np.array([1]))
        kinds = self._onnx.TensorProto
        missing = self.node("Cast", self.node("IsNaN", rows), to=kinds.INT64)
        taken = "ReduceMin" if partial else "ReduceMax"
        found = self.node(taken, missing, axes=[1], keepdims=1)
        return self.node("Cast", found, to=kinds.BOOL)

    def distances(self, rows: str, model: Model) -> str:
        """Squared distances, (n, C), from differences, which lose no digits.

        A missing cell adds nothing. The factor F / observed would change no cluster and no
        membership.
        """
        wide = self.node("Unsqueeze", rows, "axis")
        apart = self.node("Sub", wide, self.constant("centers", model.centers[model.known][None]))
        squares = self.node("Mul", apart, apart)
        if model.preparation.partial:
            nothing = self.constant("nothing", np.array(0.0))
            squares = self.node("Where", self.node("IsNaN", squares), nothing, squares)
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

    def model(self, columns: list[str], outputs: list[Any]) -> Any:
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        words = f"float64, one row per record; columns: {', '.join(columns)}"
        shape = [None, len(columns)]
        given = helper.make_tensor_value_info("X", kinds.DOUBLE, shape, doc_string=words)
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
    """A scaler, and the nearest centre as a classifier whose classes are the cluster numbers.

    KMeans would number clusters by position, whatever their numbers in the run are.
    """
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    ready = model.preparation
    if model.density is not None:
        raise ConfigError(
            f"{target}: a mixture cannot be exported yet; label new rows with fedclust label"
        )
    if model.fuzzifier is not None:
        raise ConfigError(f"{target}: scikit-learn has no fuzzy c-means; export to .onnx instead")
    if ready.partial:
        raise ConfigError(
            f"{target}: scikit-learn's nearest neighbours take no missing cells; export to .onnx"
        )
    if any(column.log for column in ready.columns) or ready.fill is not None:
        raise ConfigError(
            f"{target}: logarithms and filled missing values cannot be exported to skops; use .onnx"
        )
    both = np.vstack([ready.offset - ready.scale, ready.offset + ready.scale])
    scaler = StandardScaler().fit(both)  # two rows that have this mean and spread
    scaler.mean_, scaler.scale_, scaler.var_ = ready.offset, ready.scale, ready.scale**2
    scaler.feature_names_in_ = np.array(ready.names, dtype=object)
    nearest = KNeighborsClassifier(n_neighbors=1, algorithm="brute")
    ids = [model.ids[c] for c in model.known]
    return Pipeline([("scale", scaler), ("nearest", nearest.fit(model.centers[model.known], ids))])


_FORMATS: dict[str, Callable[[Model, Path], bytes]] = {".onnx": _onnx, ".skops": _skops}
