"""Download public data sets; only `load` calls these functions."""

import gzip
from typing import Any

import numpy as np

from ..core import DataError
from ..typing import Array

Arrays = dict[str, Array]

_BENCHMARK = (
    "https://raw.githubusercontent.com/deric/clustering-benchmark/"
    "fc7aba73c873b0e017dd3a6d7113b1cb2ede118a/src/main/resources/datasets/artificial/"
)
_SIPU = (
    "https://raw.githubusercontent.com/gagolews/clustering-data-v1/"
    "27ac73a6fd331fb18181419838d2e753dd1b5f80/sipu/"
)


_FFCF = "https://raw.githubusercontent.com/asieriko/FFCF/ef7ef0e5553e7d9eeae08164408145621f49ff07/"
_G2 = (
    "https://raw.githubusercontent.com/stallmo/cluster_library/"
    "81ac5985960480a0db2e8c91b31c69e8c213c702/data/g2_sets/"
)
_HEART = "https://archive.ics.uci.edu/static/public/45/heart+disease.zip"


def _download(url: str, sha256: str | None = None) -> str:
    """Download a file and return its path; without a hash, the caller checks the content."""
    try:
        import pooch
    except ImportError:
        raise DataError(
            "downloading needs pooch: pip install 'fedclust[data]', or put the .npz file into the "
            "folder set by FEDCLUST_DATA"
        ) from None
    known = f"sha256:{sha256}" if sha256 else None
    return str(pooch.retrieve(url, known_hash=known, progressbar=False))


def fetch_arff(name: str, sha256: str) -> Arrays:
    """Fetch coordinates and a class from the clustering benchmark."""
    from scipy.io.arff import loadarff

    table, meta = loadarff(_download(_BENCHMARK + name, sha256))
    columns = meta.names()
    X = np.column_stack([table[c].astype(float) for c in columns[:-1]])
    return {"X": X, "y": _codes(table[columns[-1]])}


def _text(name: str, sha256: str) -> Array:
    with gzip.open(_download(_SIPU + name, sha256), "rt") as lines:
        return np.loadtxt(lines)


def fetch_sipu(name: str, rows: str, labels: str) -> Arrays:
    """Fetch a table and its labels from the SIPU collection; `rows` and `labels` are hashes."""
    y = _text(f"{name}.labels0.gz", labels).astype(int)
    return {"X": _text(f"{name}.data.gz", rows), "y": y - y.min()}


def fetch_openml(data_id: int, rows: int | None = None) -> Arrays:
    """Fetch a data set from OpenML, or only its first rows."""
    from sklearn.datasets import fetch_openml

    bunch = fetch_openml(data_id=data_id, as_frame=False, parser="liac-arff")
    X, y = np.asarray(bunch.data, dtype=float), _codes(bunch.target)
    return {"X": X[:rows], "y": y[:rows], "feature_names": np.array(bunch.feature_names)}


def _uci_frame(data_id: int) -> Any:
    """Features and target of a UCI data set in one frame, the target last."""
    try:
        from ucimlrepo import fetch_ucirepo
    except ImportError:
        raise DataError("this data set needs ucimlrepo: pip install ucimlrepo") from None
    data = fetch_ucirepo(id=data_id).data
    return data.features.join(data.targets)


def fetch_uci(data_id: int) -> Arrays:
    """Fetch a data set from the UCI repository."""
    frame = _uci_frame(data_id)
    features, target = frame.columns[:-1], frame.columns[-1]
    return {
        "X": frame[features].to_numpy(dtype=float),
        "y": _codes(frame[target]),
        "feature_names": np.array(features, dtype=str),
    }


def fetch_wholesale() -> Arrays:
    """Fetch wholesale customers: spending by goods, channel as class, region as client."""
    frame = _uci_frame(292)
    goods = ["Fresh", "Milk", "Grocery", "Frozen", "Detergents_Paper", "Delicassen"]
    return {
        "X": frame[goods].to_numpy(dtype=float),
        "y": _codes(frame["Channel"]),
        "client": _codes(frame["Region"]),
        "feature_names": np.array(goods),
    }


def fetch_heart_disease() -> Arrays:
    """Fetch heart disease from four hospitals; missing values are NaN, class 1 is any disease."""
    from zipfile import ZipFile

    names = ["Cleveland", "Hungary", "Switzerland", "Long Beach VA"]
    files = [f"processed.{n}.data" for n in ("cleveland", "hungarian", "switzerland", "va")]
    with ZipFile(_download(_HEART)) as archive:
        tables = [
            np.genfromtxt(
                archive.read(name).decode().splitlines(), delimiter=",", missing_values="?"
            )
            for name in files
        ]
    rows, client = np.vstack(tables), np.repeat(np.arange(4), [len(t) for t in tables])
    columns = [
        "age",
        "sex",
        "cp",
        "trestbps",
        "chol",
        "fbs",
        "restecg",
        "thalach",
        "exang",
        "oldpeak",
        "slope",
        "ca",
        "thal",
    ]
    return {
        "X": rows[:, :13],
        "y": (rows[:, 13] > 0).astype(int),
        "num": rows[:, 13].astype(int),
        "client": client,
        "client_names": np.array(names),
        "feature_names": np.array(columns),
        "target_names": np.array(["no disease", "disease"]),
    }


def fetch_kddcup99() -> Arrays:
    """Fetch a tenth of KDD Cup 99, its 38 numeric columns."""
    from sklearn.datasets import fetch_kddcup99

    bunch = fetch_kddcup99(percent10=True)
    text_columns = (1, 2, 3)  # protocol_type, service, flag
    numeric = [c for c in range(41) if c not in text_columns]
    return {"X": bunch.data[:, numeric].astype(np.float32), "y": _codes(bunch.target)}


def fetch_ffcf() -> Arrays:
    """Fetch the four configurations of the FFCF poster."""
    parts = []
    for config, name in enumerate(("C3C4Lin", "C3C4Lin1", "C3C4Lin2", "C3C4Lin3")):
        text = np.genfromtxt(_download(f"{_FFCF}datasets/{name}.csv"), delimiter=",", dtype=str)
        parts.append(np.column_stack([text, np.full(len(text), str(config))]))
    table = np.vstack(parts)
    return {
        "X": table[:, 1:3].astype(float),
        "y": table[:, 3].astype(float).astype(int),
        "client": _codes(table[:, 0]),
        "config": table[:, 4].astype(int),
    }


def fetch_g2() -> Arrays:
    """Fetch the G2 sets of up to 128 dimensions, one array each, with common labels."""
    sets = {
        f"g2_{d}_{sd}": np.loadtxt(_download(f"{_G2}g2-{d}-{sd}.txt"), ndmin=2)
        for d in (1, 2, 4, 8, 16, 32, 64, 128)
        for sd in range(10, 101, 10)
    }
    return {**sets, "y": np.repeat([0, 1], 1024)}


def fetch_covertype() -> Arrays:
    """Fetch forest cover types, with the wilderness area as client."""
    from sklearn.datasets import fetch_covtype

    bunch = fetch_covtype()
    return {
        "X": bunch.data[:, :10],
        "y": bunch.target.astype(int) - 1,
        "client": bunch.data[:, 10:14].argmax(axis=1),
        "soil_type": bunch.data[:, 14:].argmax(axis=1),
    }


def _codes(labels: Any) -> Array:
    """Encode labels as 0, 1, ... in numeric order if they are numbers, else alphabetically."""
    labels = np.asarray(labels)
    text = labels.astype(str) if labels.dtype.kind != "S" else labels.astype("U")
    try:
        return np.unique(text.astype(float), return_inverse=True)[1]
    except ValueError:
        return np.unique(text, return_inverse=True)[1]
