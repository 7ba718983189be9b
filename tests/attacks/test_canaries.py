"""Values planted in every client's rows appear in nothing that leaves it, in no tier."""

import io
import logging
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.clustering.rows import cluster
from fedclust.core import (
    Data,
    FedclustError,
    Plan,
    Schema,
    rounds,
    save_round,
)
from fedclust.privacy import ClientPolicy, FixedPoint, Ledger, Limits
from fedclust.typing import FloatArray

from .server import CuriousServer
from .table import TIERS

SCHEMA = Schema(3, low=np.zeros(3), high=np.ones(3))


def planted() -> tuple[dict[str, FloatArray], list[list[float]]]:
    """Four clients, and in each a row of values that nobody else has."""
    rng = np.random.default_rng(0)
    data: dict[str, FloatArray] = {}
    canaries: list[list[float]] = []
    for i in range(4):
        X = np.clip(rng.normal(rng.choice([0.25, 0.75], (60, 1)), 0.08, (60, 3)), 0.01, 0.99)
        canary = 0.123456789012345 + 0.1 * i + np.array([0.0, 0.011, 0.0222])
        X[7] = canary
        canaries.append(canary.tolist())
        data[f"c{i}"] = X
    return data, canaries


def spellings(value: float) -> list[bytes]:
    """A value as it could stand in a file or on a wire."""
    steps = [int(np.rint((value - 0.5) * 2.0**bits)) for bits in (20, 38, 39, 40, 45, 46)]
    return [
        struct.pack("<d", value),
        struct.pack(">d", value),
        repr(value).encode(),
        f"{value:.6f}".encode(),
        value.hex().encode(),
        *(struct.pack("<q", s) for s in steps),
    ]


def found_in(raw: bytes, canaries: list[list[float]]) -> bool:
    """Any value of a row; in four bytes, of which masks have all, a whole row."""
    return any(
        any(text in raw for value in row for text in spellings(value))
        or all(struct.pack("<f", value) in raw for value in row)
        for row in canaries
    )


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
@pytest.mark.parametrize("tier", TIERS)
def test_no_canary_in_messages_logs_ledgers_or_checkpoints(
    tier: str, key: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data, canaries = planted()
    caplog.set_level(logging.DEBUG)
    policies = {name: ClientPolicy(ledger=Ledger(tmp_path / f"{name}.jsonl")) for name in data}
    owners = {n: Data(X, np.empty(0), policy=policies[n]) for n, X in data.items()}
    server = CuriousServer(owners)
    found = cluster(make(key, 2), server, SCHEMA, privacy=tier, seed=1)
    assert server.notes
    wire = io.BytesIO()
    for _, request, _, message in server.notes:
        for record in (request.down, message):
            for array in record.arrays().values():
                wire.write(array.tobytes())
    assert not found_in(wire.getvalue(), canaries)
    assert not found_in(found.centers.tobytes(), canaries)
    assert not found_in(caplog.text.encode(), canaries)
    for file in tmp_path.iterdir():
        assert not found_in(file.read_bytes(), canaries)


def test_no_canary_in_a_checkpoint(tmp_path: Path) -> None:
    data, canaries = planted()
    plan = Plan(
        make("llf-cm", 2, init=np.array([[0.2] * 3, [0.8] * 3])), (FixedPoint.over(SCHEMA),)
    )
    for done in rounds(plan, CuriousServer(data), SCHEMA):
        save_round(tmp_path / "round.npz", plan, done)
        assert not found_in((tmp_path / "round.npz").read_bytes(), canaries)


def narrow() -> Any:
    return Schema(3, low=np.zeros(3), high=np.full(3, 0.3))


@pytest.mark.parametrize(
    ("tier", "schema", "limits"),
    [
        ("secure", narrow(), None),  # rows outside the bounds
        ("secure", SCHEMA, Limits(max_queries=1)),  # a ledger that is full
        ("guarded", SCHEMA, Limits(min_samples=100)),  # a client that is too small
        ("dp", SCHEMA, Limits(epsilon=0.01)),  # a budget that is spent
    ],
)
def test_no_canary_in_what_a_failure_says(tier: str, schema: Any, limits: Any) -> None:
    data, canaries = planted()
    owners = {n: Data(X, np.empty(0), policy=ClientPolicy(limits=limits)) for n, X in data.items()}
    said = ""
    with suppress(AssertionError):
        try:
            cluster(make("llf-cm", 2), CuriousServer(owners), schema, privacy=tier)
        except FedclustError as problem:
            said = str(problem)
    assert said
    assert not found_in(said.encode(), canaries)


def test_the_search_finds_what_is_there() -> None:
    data, canaries = planted()
    assert found_in(data["c0"].tobytes(), canaries)
    assert found_in(f"row {data['c1'][7][0]!r}".encode(), canaries)
    assert found_in(data["c2"].astype("<f4").tobytes(), canaries)
