"""Attack by attack and tier by tier: how many records a server recovers.

Printed by ``python -m tests.attacks``; the table of docs/privacy.md is its output.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from fedclust.algorithms import make, make_seeding
from fedclust.core import Plan, Refusal, Request, Schema, run
from fedclust.tiers import tier_of
from fedclust.typing import FloatArray

from . import differencing, fuzzy_system, halfspaces
from .server import EVERYBODY, CuriousServer, dealt, exact, table, watched

TIERS = ("none", "paper", "guarded", "secure", "dp", "secure+dp")
Outcome = tuple[int, int]  # records recovered, of so many


def differences(
    name: str, tier: str, n_init: int = 1, seed: int = 0, start: str = "auto"
) -> Outcome:
    """Differencing with peeling against every client: what can be pinned on one."""
    X, k = table(name)
    how: dict[str, Any] = {"n_init": _starts(tier, n_init), "seed": seed, "start": start}
    server, _ = watched(dealt(X, 5, seed), k, tier, **how)
    return _recover(server, X, together=False), len(X)


def aggregate(name: str, tier: str, n_init: int = 1, seed: int = 0) -> Outcome:
    """The same against the sum of all clients."""
    X, k = table(name)
    server, _ = watched(dealt(X, 5, seed), k, tier, n_init=_starts(tier, n_init), seed=seed)
    return _recover(server, X, together=True), len(X)


def _recover(server: CuriousServer, X: FloatArray, *, together: bool) -> int:
    """Records that differences give, with the rounded sums of the start and without them."""
    found: list[FloatArray] = [np.empty((0, X.shape[1]))]
    for rounded in (True, False):
        looks = [k for k in server.looks(rounded=rounded) if (k.who == EVERYBODY) == together]
        if looks:
            found.append(differencing.recovered(looks))
    return exact(np.vstack(found), X)


def _starts(tier: str, n_init: int) -> int:
    return 1 if "dp" in tier else n_init  # more are refused


def crafted(name: str, tier: str, questions: int = 100, seed: int = 0) -> Outcome:
    """Half-spaces, asked of all clients; the records of clients whose sums can be read."""
    X, _ = table(name)
    data = dealt(X, 5, seed)
    found = halfspaces.recovered(_asking(data, tier, X.shape[1]), X.shape[1], questions, seed)
    return exact(found, X), len(X)


def _asking(data: dict[str, FloatArray], tier: str, F: int) -> halfspaces.Ask:
    """A malicious server's question: two centres, and one side's count and sum."""
    schema = Schema(F, low=np.zeros(F), high=np.ones(F))
    chosen = tier_of(tier)
    server = CuriousServer(data)
    channel = chosen.channel(server)
    algorithm = chosen.adapt(make("llf-cm", 2, init=np.zeros((2, F))), schema, len(data))
    plan = Plan(algorithm, chosen.transforms(algorithm, schema, len(data)))
    # Whose sums can be read? Under masks only everybody's.
    who = EVERYBODY if "secure" in tier else sorted(data)[0]
    rounds = iter(range(10_000))

    def ask(centers: FloatArray) -> tuple[float, FloatArray] | None:
        usual: Any = algorithm.broadcast(algorithm.start(schema, plan.rng("server", -1)))
        down = replace(usual, centers=centers)
        cohort = tuple(sorted(data))
        try:
            list(channel.ask(plan, Request(next(rounds), cohort, down)))
        except Refusal:
            return None
        look = [look for look in server.looks() if look.who == who][-1]
        server.notes.clear()
        return float(look.count[0]), look.total[0]

    return ask


def small_fuzzy(name: str, tier: str, n: int = 5, seed: int = 0) -> Outcome:
    """Solving the sums of LLF-FCM for a client of five records, which its paper calls safe."""
    X, k = table(name)
    order = np.random.default_rng(seed).permutation(len(X))
    data = {"small": X[order[:n]], "one": X[order[n:80]], "other": X[order[80:]]}
    settings: dict[str, Any] = {"key": "llf-fcm", "max_rounds": 5, "seed": seed}
    start = np.random.default_rng(seed).random((k, X.shape[1]))
    if "dp" not in tier:
        settings["init"] = start
    server, _ = watched(data, k, tier, **settings)
    looks = [look for look in server.looks() if look.who == "small"]
    if not looks or not any(look.count.any() for look in looks):
        return 0, n
    return exact(fuzzy_system.recovered(looks, n, seed=seed), data["small"], 1e-3), n


def seeds(name: str, tier: str, seed: int = 0) -> Outcome:
    """Rows among the seeds that are sent: FKM as printed, where a tier allows it."""
    X, k = table(name)
    F, chosen = X.shape[1], tier_of(tier)
    schema = Schema(F, low=np.zeros(F), high=np.ones(F))
    server = CuriousServer(dealt(X, 5, seed))
    seeding: Any = make_seeding("fkm", k, preset="reference")
    if chosen.sums_only:
        seeding = chosen.seeding(make("llf-cm", k), schema, 5)

    run(Plan(seeding, chosen.transforms(seeding, schema, 5)), chosen.channel(server), schema)
    wide = [a for *_, m in server.notes for a in m.arrays().values() if a.shape[1:] == (F,)]
    return exact(np.vstack([np.empty((0, F)), *wide]), X), len(X)


ATTACKS: dict[str, Callable[[str, str], Outcome]] = {
    "differences, one run, one client": differences,
    "differences, ten starts, one client": lambda name, tier: differences(name, tier, 10),
    "differences, one run, all together": aggregate,
    "differences, ten starts, all together": lambda name, tier: aggregate(name, tier, 10),
    "crafted centres, 100 queries": crafted,
    "fuzzy sums of a client of five": small_fuzzy,
    "rows among FKM's seeds, as printed": seeds,
}


def lines(names: tuple[str, ...] = ("iris", "diabetes")) -> Iterator[str]:
    """The table, as Markdown."""
    yield "| attack | data | " + " | ".join(f"`{tier}`" for tier in TIERS) + " |"
    yield "|---|---|" + "---|" * len(TIERS)
    for title, attack in ATTACKS.items():
        for name in names:
            cells = []
            for tier in TIERS:
                found, of = attack(name, tier)
                cells.append(f"{found} of {of}")
            yield f"| {title} | {name} | " + " | ".join(cells) + " |"
