"""Where the public data sets come from, for users with internet; called by `load` alone."""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Source:
    """How to fetch a data set, and the hash its content must have."""

    fetch: Callable[[], Arrays]
    content: str | None = None  # see `content_hash`; None where a pinned file's own hash suffices
    credit: str = ""


def _file(url: str, sha256: str) -> str:
    """The path of a downloaded file whose hash is known."""
    try:
        import pooch
    except ImportError:
        raise DataError(
            "downloading needs pooch: pip install 'fedclust[data]', or put the .npz file into the "
            "folder that FEDCLUST_DATA names"
        ) from None
    return str(pooch.retrieve(url, known_hash=f"sha256:{sha256}", progressbar=False))


def _arff(name: str, sha256: str) -> Arrays:
    """Two coordinates and a class, as the clustering benchmark keeps them."""
    from scipy.io import arff

    table, meta = arff.loadarff(_file(_BENCHMARK + name, sha256))
    columns = meta.names()
    X = np.column_stack([table[c].astype(float) for c in columns[:-1]])
    return {"X": X, "y": _codes(table[columns[-1]])}


def _text(name: str, sha256: str) -> Array:
    with gzip.open(_file(_SIPU + name, sha256), "rt") as lines:
        return np.loadtxt(lines)


def _sipu_set(name: str, rows: str, labels: str) -> Arrays:
    y = _text(f"{name}.labels0.gz", labels).astype(int)
    return {"X": _text(f"{name}.data.gz", rows), "y": y - y.min()}


def _openml(data_id: int, rows: int | None = None) -> Arrays:
    from sklearn.datasets import fetch_openml

    bunch = fetch_openml(data_id=data_id, as_frame=False, parser="liac-arff")
    X, y = np.asarray(bunch.data, dtype=float), _codes(bunch.target)
    return {"X": X[:rows], "y": y[:rows], "feature_names": np.array(bunch.feature_names)}


def _uci(data_id: int) -> Arrays:
    try:
        from ucimlrepo import fetch_ucirepo
    except ImportError:
        raise DataError("this data set comes through ucimlrepo: pip install ucimlrepo") from None
    found = fetch_ucirepo(id=data_id).data
    return {
        "X": found.features.to_numpy(dtype=float),
        "y": _codes(found.targets.to_numpy().ravel()),
        "feature_names": np.array(found.features.columns, dtype=str),
    }


def _covertype() -> Arrays:
    from sklearn.datasets import fetch_covtype

    bunch = fetch_covtype()
    return {
        "X": bunch.data[:, :10],
        "y": bunch.target.astype(int) - 1,
        "client": bunch.data[:, 10:14].argmax(axis=1),
        "soil_type": bunch.data[:, 14:].argmax(axis=1),
    }


def _codes(labels: Any) -> Array:
    """Labels as 0, 1, ...: by number where they are numbers, else by the alphabet."""
    labels = np.asarray(labels)
    text = labels.astype(str) if labels.dtype.kind != "S" else labels.astype("U")
    try:
        return np.unique(text.astype(float), return_inverse=True)[1]
    except ValueError:
        return np.unique(text, return_inverse=True)[1]


SOURCES: Mapping[str, Source] = {
    "xclara": Source(
        lambda: _arff(
            "xclara.arff", "fe968dc2b7f261b8f57b508b27b7105c141c8832a1f5a920883e89ac50982d62"
        ),
        "6e341ebf865ff9bb0a6d7727c67bc9635928e466d7f90802dfcbb1b8fb2f9a75",
    ),
    "s1": Source(
        lambda: _arff(
            "s-set1.arff", "d107e62555f1a7da8a5e700e18bd315252f39253bc5e0bfd71aa6ce8bc79e2d3"
        ),
        "a24aaac1c6995182699aaf6ed4d1ece0070191a0a85fa7208bee6f99d550c909",
    ),
    "s2": Source(
        lambda: _arff(
            "s-set2.arff", "d5e93ff5264b0bfaf6c6a4a1544222a2c6831f1499fe4d51594810e69dadf4d7"
        ),
        "b5224a43a01b377352f9dc62ba3061a32bce9f3ec7fb2b3366c57e8a4ae2a695",
    ),
    "s4": Source(
        lambda: _sipu_set(
            "s4",
            "53320cc3e9b044bcc89b52ab65d20b88fa8aae40c51f887e96f505992dfb449b",
            "ffc32b730a434f9c7a973fdfb9a79c3f6f8be4cbcc2484478f84707b0ab59418",
        )
    ),
    "birch1": Source(
        lambda: _sipu_set(
            "birch1",
            "ea519ed9d896ef54ff0d1acae0298bc859915610057825ac796c078b8c2724c1",
            "989283c30436b8be9c1fc6a6bcf897abdb8b9b5627c9852fec1b8517bde499f1",
        )
    ),
    "pendigits": Source(
        lambda: _openml(32),
        "5e508fc280621199d8e8d0fd33af20e976d4bddb88fec02aaaecd26bd51ce70e",
        "UCI 81, CC BY 4.0",
    ),
    "phoneme": Source(
        lambda: _openml(1489),
        "d9ac5abdcc1dfc5d4030977ee108efbef7cafa6b12f6af9981da9c81df193380",
    ),
    "mnist": Source(lambda: _openml(554, rows=60_000), None, "Y. LeCun, C. Cortes; CC BY-SA 3.0"),
    "waveform": Source(
        lambda: _uci(107),
        "2cabd3c4f045d5a0d3039bf984f80c065b327b15243197e3634f33aa97f93484",
        "UCI 107, CC BY 4.0",
    ),
    "statlog_landsat": Source(
        lambda: _uci(146),
        "759e23ce71650cfb7e9ee7ccc48fe326937316bdf0d563699976ad66433c129a",
        "UCI 146, CC BY 4.0",
    ),
    "wholesale_customers": Source(
        lambda: _uci(292),
        "ed2f561d2c2fc9fa96cdc7962720bf0f8da69f83d12cd17ec946a5cded60d546",
        "UCI 292, CC BY 4.0",
    ),
    "rice": Source(
        lambda: _uci(545),
        "694898d9abfadccb17482b0cb186e87b41da26a0beb1b8cba75c6c176168d0f2",
        "UCI 545, CC BY 4.0",
    ),
    "covertype": Source(_covertype, None, "J. A. Blackard, Colorado State University; UCI 31"),
}
