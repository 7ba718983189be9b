"""A server that does not follow the protocol: it asks plans of its own choice, one by one."""

from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_blobs

from fedclust.algorithms import make
from fedclust.core import (
    AnyAlgorithm,
    Data,
    Message,
    Plan,
    Refusal,
    Request,
    Schema,
    Transform,
    respond,
)
from fedclust.kernels import nearest
from fedclust.metrics import Evaluation
from fedclust.privacy import ClientPolicy, Ledger
from fedclust.typing import FloatArray

from .server import Look, table

OPEN: tuple[Transform, ...] = ()


class Victim:
    """One client, which answers as long as its policy allows."""

    def __init__(self, X: FloatArray, transforms: tuple[Transform, ...]) -> None:
        self._transforms = transforms
        self.data = Data(X, np.empty(0), policy=ClientPolicy(ledger=Ledger()))
        self.F = X.shape[1]
        self.n = len(X)

    def ask(self, algorithm: AnyAlgorithm, seed: int = 0) -> Any:
        """The answer to one round; None if it is refused."""
        plan = Plan(algorithm, self._transforms, seed)
        down = algorithm.broadcast(algorithm.start(Schema(self.F), np.random.default_rng(seed)))
        try:
            message: Message = respond(plan, Request(0, ("v",), down), "v", self.data)
        except Refusal:
            return None
        return message

    def sums(self, centers: FloatArray, key: str = "llf-cm") -> Look | None:
        """Sums by cluster at centres of the server's choice."""
        algorithm: Any = make(key, len(centers), init=centers, max_rounds=1)
        found = self.ask(algorithm)
        return None if found is None else Look("v", centers, found.weight, found.total)

    def inertia(self, centers: FloatArray) -> float | None:
        """The inertia of centres of the server's choice."""
        found = self.ask(Evaluation(len(centers), centers))
        return None if found is None else float(found.sums.sum())


def from_counts_that_differ_by_one(looks: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """Differences of sums whose counts differ by one, and sums of a count of one."""
    count = np.concatenate([n for n, _ in looks])
    total = np.vstack([s for _, s in looks])
    more, less = np.nonzero(np.abs(count[:, None] - count - 1.0) < 1e-6)
    found = np.vstack([total[np.abs(count - 1.0) < 1e-6], total[more] - total[less]])
    inside = ((found > -1e-6) & (found < 1 + 1e-6)).all(axis=1)
    return found[inside]


def outermost_records(victim: Victim, seed: int, directions: int) -> FloatArray:
    """Records from inertia alone: its kinks along a direction are projections of records.

    The inertia of two mirrored centres is, up to known moments, the sum of |w.x - t|. Between the
    two largest projections it is a line whose offset gives the largest. Slightly other directions
    have the same outermost record, and F of them give all its values.
    """
    rng, found = np.random.default_rng(seed), []
    moments = _moments(victim)
    if moments is None:
        return np.empty((0, victim.F))
    for _ in range(directions):
        w = rng.normal(size=(1, victim.F))
        w = w / np.linalg.norm(w)
        near = w + 1e-3 * np.vstack([np.zeros(victim.F), np.eye(victim.F)])
        axes = near / np.linalg.norm(near, axis=1, keepdims=True)
        tops = [_largest_projection(victim, axis, moments) for axis in axes]
        known = [t for t in tops if t is not None]
        if len(known) == len(near):
            found.append(np.linalg.lstsq(axes, np.array(known), rcond=None)[0])
    return np.array(found).reshape(-1, victim.F)


def _moments(victim: Victim) -> tuple[float, FloatArray, float] | None:
    """Number, sum and sum of squares of the rows, by inertias of single centres."""
    zero = np.zeros(victim.F)
    values = [victim.inertia(c[None]) for c in (zero, *np.eye(victim.F), *(-np.eye(victim.F)))]
    if any(v is None for v in values):
        return None
    f = np.array(values, dtype=float)
    up, down = f[1 : victim.F + 1], f[victim.F + 1 :]
    n = float((up + down - 2 * f[0])[0] / 2)
    return n, (down - up) / 4, float(f[0])


def _largest_projection(
    victim: Victim, w: FloatArray, moments: tuple[float, FloatArray, float]
) -> float | None:
    n, S, square = moments

    def spread(t: float) -> float | None:  # the sum of |w.x - t|
        middle = w * t
        value = victim.inertia(np.stack([middle - w, middle + w]))
        if value is None:
            return None
        around = square - 2 * float(middle @ S) + n * t * t
        return (around + n - value) / 2

    low, high = float(w @ S) / n, float(np.abs(w).sum())
    for _ in range(60):
        t = (low + high) / 2
        places = t, t + (high - t) * 1e-3
        values = [spread(place) for place in places]
        tops = [
            (value - (n - 2) * place + float(w @ S)) / 2
            for value, place in zip(values, places, strict=True)
            if value is not None
        ]
        if len(tops) < 2:
            return None
        if tops[0] - t < 1e-12:
            high = t  # beyond all records
        elif abs(tops[0] - tops[1]) < 1e-9:
            return tops[0]
        else:
            low = t
    return None


def alone_in_the_row_space(X: FloatArray, centers: list[FloatArray]) -> int:
    """Records that are a linear combination of sums: e_i is in the span of all memberships.

    X are the rows as the client uses them, so that this is the server's best case.
    """
    sets = np.vstack([np.eye(len(c))[nearest(X, c)[0]].T for c in centers])
    basis = np.linalg.svd(sets, full_matrices=False)
    span = basis[2][basis[1] > 1e-9 * basis[1].max()]
    return int((np.abs((span**2).sum(axis=0) - 1.0) < 1e-6).sum())


def used_rows(victim: Victim, transforms: tuple[Transform, ...]) -> FloatArray:
    """The rows that a client computes with."""
    data: Any = victim.data
    for transform in transforms:
        if hasattr(transform, "size"):
            data = data.policy.groups.group(data, transform.size)
    return np.asarray(data.X)


def table_of(name: str, n: int, seed: int = 0) -> FloatArray:
    """Some rows of a data set, in the unit cube; of many columns those that vary most."""
    if name in ("digits", "cancer"):
        load = load_digits if name == "digits" else load_breast_cancer
        X = np.asarray(load().data, dtype=float)
        X = X / np.maximum(np.ptp(X, axis=0), 1e-9) if name == "cancer" else X
        X = X[:, np.sort(np.argsort(-X.var(axis=0))[:10])]
    elif name == "blobs":
        X = np.asarray(make_blobs(450, 5, centers=6, random_state=0)[0])
    else:
        X = table(name)[0]
    rows = np.random.default_rng(seed).permutation(len(X))[:n]
    scaled: FloatArray = (X[rows] - X.min(axis=0)) / np.ptp(X, axis=0)
    return scaled


def crafted_centers(X: FloatArray, n: int, seed: int) -> list[FloatArray]:
    """Two to six centres, near each other or apart, around the rows."""
    rng = np.random.default_rng(seed)
    F = X.shape[1]
    return [
        rng.random((int(rng.integers(2, 7)), F)) * rng.choice([0.2, 1.0]) + rng.random(F) * 0.3
        for _ in range(n)
    ]
