"""Clients whose sums are masked."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.core import Data, Plan, Schema
from fedclust.privacy import FixedPoint
from fedclust.typing import FloatArray

pytest.importorskip("cryptography")


SCHEMA = Schema(3, low=np.full(3, -20.0), high=np.full(3, 20.0))


EXACT = FixedPoint.over(SCHEMA, max_records=1000)


def rows(n: int = 200, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) + 5 * rng.integers(0, 3, (n, 1))


def owners(n: int = 5, policies: Any = None) -> dict[str, Data]:
    X = rows()
    return {
        f"c{i}": replace(Data.of(X[i::n]), policy=(policies or {}).get(f"c{i}")) for i in range(n)
    }


def plan(key: str = "llf-cm", **settings: Any) -> Plan:
    return Plan(make(key, 3, init=rows()[:3] + 0.1, **settings), (EXACT,))
