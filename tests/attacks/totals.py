"""What an honest server works out from totals alone, in the 50 queries that a kit answers.

Five clients, masks, and fits from ten seeds until the query limit ends them. The server follows the
protocol and keeps all totals; in a followed study it can do no more but choose the study. With more
clusters, a cluster has fewer rows, and its sum shows more of each. ``python -m
tests.attacks.totals`` prints the table of docs/privacy.md.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from fedclust.clustering.summary import SummaryRun
from fedclust.core import Data, Schema
from fedclust.privacy import ClientPolicy, Ledger, Limits
from fedclust.tiers import tier_of

from . import differencing
from .followed import DATA, WITHIN, Found, deal
from .server import EVERYBODY, CuriousServer, Look, exact, watched

USUAL, FITS, QUERIES = {"digits": 10, "diabetes": 5}, 10, 50  # clusters; 3 of other sets
MANY = (20, 100)


def attack(
    name: str, tier: str = "secure", fits: int = FITS, k: int = 0, *, summary: bool = False
) -> Found:
    """Records among the differences of totals over so many clusters, or the usual number.

    With `summary`, the number of clusters is "auto": a summary of all rows comes first.
    """
    rows, k = deal(name), k or USUAL.get(name, 3)
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
        if summary:
            looks += _summarise(data, tier)
        for seed in range(fits):
            server, _ = watched(data, k, tier, seed=seed)
            looks += server.looks()
    found = differencing.recovered(looks, EVERYBODY)
    pool = np.vstack(list(rows.values()))
    return Found(*(exact(found, pool, within) for within in WITHIN))


def _summarise(data: dict[str, Data], tier: str) -> list[Look]:
    """Totals of the micro-clusters of a summary; 80 of them, or one for ten rows."""
    server, F = CuriousServer(data), next(iter(data.values())).X.shape[1]
    schema, protection = Schema(F, low=np.zeros(F), high=np.ones(F)), tier_of(tier)
    SummaryRun(protection.channel(server), schema, protection).learn()
    return server.looks()


def lines(names: tuple[str, ...] = tuple(DATA)) -> Iterator[str]:
    """The table, as Markdown."""
    many = " | ".join(f"`secure`, {k} clusters" for k in MANY)
    yield f"| data | rows | clusters | `secure` | `secure`, auto | {many} | `secure+dp` |"
    yield "|---|---|---|---|" + "---|" * (len(MANY) + 2)
    for name in names:
        found = [attack(name), attack(name, summary=True)]
        found += [*(attack(name, k=k) for k in MANY), attack(name, "secure+dp")]
        cells = " | ".join(f"{one.exact} ({one.near})" for one in found)
        yield f"| {name} | {DATA[name]} | {USUAL.get(name, 3)} | {cells} |"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)  # noqa: T201
