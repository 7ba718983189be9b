"""What an honest server works out from totals alone, in the 50 queries that a kit answers.

Five clients, masks, and fits from ten seeds until the query limit ends them. The server follows the
protocol and keeps all totals; in a followed study it can do no more. ``python -m
tests.attacks.totals`` prints the table of docs/privacy.md.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from fedclust.core import Data
from fedclust.privacy import ClientPolicy, Ledger, Limits

from . import differencing
from .followed import DATA, WITHIN, Found, deal
from .server import EVERYBODY, Look, exact, watched

TIERS = ("secure", "secure+dp")
K, FITS, QUERIES = {"digits": 10, "diabetes": 5}, 10, 50


def attack(name: str, tier: str = "secure", fits: int = FITS) -> Found:
    """Records among the differences of totals."""
    rows = deal(name)
    looks: list[Look] = []
    with TemporaryDirectory() as folder:
        limits = Limits(max_queries=QUERIES)
        data = {
            client: Data(
                X,
                np.empty(0),
                policy=ClientPolicy(limits=limits, ledger=Ledger(Path(folder) / f"{client}.jsonl")),
            )
            for client, X in rows.items()
        }
        for seed in range(fits):
            server, _ = watched(data, K.get(name, 3), tier, seed=seed)
            looks += server.looks()
    found = differencing.recovered(looks, EVERYBODY)
    pool = np.vstack(list(rows.values()))
    return Found(*(exact(found, pool, within) for within in WITHIN))


def lines(names: tuple[str, ...] = tuple(DATA)) -> Iterator[str]:
    """The table, as Markdown."""
    yield "| data | rows | " + " | ".join(f"`{tier}`" for tier in TIERS) + " |"
    yield "|---|---|" + "---|" * len(TIERS)
    for name in names:
        cells = [f"{found.exact} ({found.near})" for found in (attack(name, t) for t in TIERS)]
        yield f"| {name} | {DATA[name]} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)  # noqa: T201
