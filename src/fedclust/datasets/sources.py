"""Sources of the public data sets, and hashes of their expected content."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .download import (
    Arrays,
    fetch_arff,
    fetch_covertype,
    fetch_ffcf,
    fetch_g2,
    fetch_heart_disease,
    fetch_kddcup99,
    fetch_openml,
    fetch_sipu,
    fetch_uci,
    fetch_wholesale,
)


@dataclass(frozen=True)
class Source:
    """How to fetch a data set, and the hash of its expected content."""

    fetch: Callable[[], Arrays]
    content: str | None = None  # see `content_hash`; None if `fetch` checks the hash of a file
    credit: str = "no licence stated"


SOURCES: Mapping[str, Source] = {
    "xclara": Source(
        lambda: fetch_arff(
            "xclara.arff", "fe968dc2b7f261b8f57b508b27b7105c141c8832a1f5a920883e89ac50982d62"
        ),
        "6e341ebf865ff9bb0a6d7727c67bc9635928e466d7f90802dfcbb1b8fb2f9a75",
    ),
    "s1": Source(
        lambda: fetch_arff(
            "s-set1.arff", "d107e62555f1a7da8a5e700e18bd315252f39253bc5e0bfd71aa6ce8bc79e2d3"
        ),
        "a24aaac1c6995182699aaf6ed4d1ece0070191a0a85fa7208bee6f99d550c909",
    ),
    "s2": Source(
        lambda: fetch_arff(
            "s-set2.arff", "d5e93ff5264b0bfaf6c6a4a1544222a2c6831f1499fe4d51594810e69dadf4d7"
        ),
        "b5224a43a01b377352f9dc62ba3061a32bce9f3ec7fb2b3366c57e8a4ae2a695",
    ),
    "s4": Source(
        lambda: fetch_sipu(
            "s4",
            "53320cc3e9b044bcc89b52ab65d20b88fa8aae40c51f887e96f505992dfb449b",
            "ffc32b730a434f9c7a973fdfb9a79c3f6f8be4cbcc2484478f84707b0ab59418",
        )
    ),
    "birch1": Source(
        lambda: fetch_sipu(
            "birch1",
            "ea519ed9d896ef54ff0d1acae0298bc859915610057825ac796c078b8c2724c1",
            "989283c30436b8be9c1fc6a6bcf897abdb8b9b5627c9852fec1b8517bde499f1",
        )
    ),
    "pendigits": Source(
        lambda: fetch_openml(32),
        "5e508fc280621199d8e8d0fd33af20e976d4bddb88fec02aaaecd26bd51ce70e",
        "UCI 81, CC BY 4.0",
    ),
    "phoneme": Source(
        lambda: fetch_openml(1489),
        "d9ac5abdcc1dfc5d4030977ee108efbef7cafa6b12f6af9981da9c81df193380",
    ),
    "mnist": Source(
        lambda: fetch_openml(554, rows=60_000),
        "3eae1a871a80a699412af3e5307a2b855e6a48d262d34d2f57bb421b6bfff32c",
        "Y. LeCun, C. Cortes, CC BY-SA 3.0",
    ),
    "waveform": Source(
        lambda: fetch_uci(107),
        "2cabd3c4f045d5a0d3039bf984f80c065b327b15243197e3634f33aa97f93484",
        "UCI 107, CC BY 4.0",
    ),
    "statlog_landsat": Source(
        lambda: fetch_uci(146),
        "759e23ce71650cfb7e9ee7ccc48fe326937316bdf0d563699976ad66433c129a",
        "UCI 146, CC BY 4.0",
    ),
    "wholesale_customers": Source(
        fetch_wholesale,
        "ed2f561d2c2fc9fa96cdc7962720bf0f8da69f83d12cd17ec946a5cded60d546",
        "UCI 292, CC BY 4.0",
    ),
    "rice": Source(
        lambda: fetch_uci(545),
        "694898d9abfadccb17482b0cb186e87b41da26a0beb1b8cba75c6c176168d0f2",
        "UCI 545, CC BY 4.0",
    ),
    "covertype": Source(
        fetch_covertype,
        "de25bc099e1205af96f60794800a0a05881c40cd78e6a4cd3b2728a4eaceb718",
        "UCI 31, J. A. Blackard, Colorado State University, CC BY 4.0",
    ),
    "kddcup99_10": Source(
        fetch_kddcup99,
        "0e1014ea859100394489f62295dc1bf7fcc9f9b8e6be10542c422ee083c32e5e",
        "UCI 130, CC BY 4.0",
    ),
    "heart_disease": Source(
        fetch_heart_disease,
        "9f61d008f4501a49f4c668654010aa54b50bdcc4b6948aaf035884616af4fc35",
        "UCI 45, CC BY 4.0",
    ),
    "ffcf_case3": Source(
        fetch_ffcf, "f3aa564da23696d15e3872a9bc1ba8894e050ffc4b3d73a57a610b5d2991c9bc"
    ),
    "g2": Source(fetch_g2, "e6e7177cbe19a922551a165fe3a47548460df35b754871eb1b65910029c58a87"),
}

# These consist of too many files to download automatically.
ELSEWHERE: Mapping[str, str] = {
    "fkm_synthetic": "folder data/beta* of github.com/swiergarst/fedKMeans; "
    "fedclust.datasets.fkm_grid generates similar data",
    "femnist_digits": "folder data/MNIST of github.com/swiergarst/fedKMeans",
    "fkm_fig4": "folder data/cluster_wise_small of github.com/swiergarst/fedKMeans",
    "femnist_dwf": "folder 'data femnist' of github.com/PatrickITWM/DWF-k-means, commit cd651d0 "
    "(arrays X_iid, y_iid, client_iid, and the same of half_iid; pixels from 0 to 255)",
}
