"""One plan, and requests for it."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from fedclust.algorithms import make
from fedclust.core import Plan, Request, Schema
from fedclust.core.codec import (
    encode_request,
)
from fedclust.core.wire import pack, unpack

from .in_process import NAMES, PLAIN, write_kits

SCHEMA = Schema(2)


START = np.array([[1.0, 9.0], [4.0, 18.0], [8.0, 4.0]])


PLAN = Plan(make("llf-fcm", 3, init=START, max_rounds=6, tol=0.0))


def with_arrays(raw: bytes, **arrays: Any) -> bytes:
    header, there = unpack(raw)
    return pack(header, {**there, **arrays})


def refusal(tmp_path: Path, raw: bytes, consent: str = "", author: str = "") -> str:
    site = write_kits(tmp_path, consent)["west"]
    header = unpack(site.answer(raw, author)).header
    line = json.loads((tmp_path / "west" / "disclosures.jsonl").read_text().splitlines()[-1])
    assert (header["kind"] == "refusal") == ("refused" in line)
    return str(header.get("why", ""))


def preflight(columns: Any, *, counts: bool = False) -> bytes:
    """A preflight as a server sends it."""
    words = {"algorithm": "llf-fcm", "counts": counts, "needs_memory": "", "columns": columns}
    return pack({"kind": "preflight", "id": "/1", "about": {"study": "s"}, **words}, {})


def request(plan: Plan, data: Any = PLAIN, study: str = "s", n: int = 0) -> bytes:
    algorithm = plan.algorithm
    down = algorithm.broadcast(algorithm.start(SCHEMA, np.random.default_rng(0)))
    return encode_request(plan, Request(n, NAMES, down), id="/1", about={"study": study}, data=data)
