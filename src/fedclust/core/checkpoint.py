"""Checkpoints: a round as named arrays in one file, written atomically."""

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from .errors import CheckpointError
from .files import write_atomically
from .loop import AnyAlgorithm, ClientSampling, Plan, Round

_FORMAT = 1
_HEADER = "fedclust"


def config(algorithm: AnyAlgorithm) -> dict[str, Any]:
    """The algorithm as plain values: its registry key and its fields."""
    values = {f.name: getattr(algorithm, f.name) for f in fields(algorithm)}  # type: ignore[arg-type]
    numpy = np.ndarray | np.generic
    plain = {n: v.tolist() if isinstance(v, numpy) else v for n, v in values.items()}
    return {"algorithm": algorithm.key, **plain}


def _agreement(plan: Plan) -> dict[str, Any]:
    """The settings that must not change between a run and its continuation."""
    return {
        "format": _FORMAT,
        "plan": config(plan.algorithm),
        "transforms": [repr(t) for t in plan.transforms],
        "seed": int(plan.seed),
    }


def save_round(path: str | os.PathLike[str], plan: Plan, done: Round) -> None:
    """Write a round to `path` atomically: after a crash the old or the new file remains."""
    header = {
        **_agreement(plan),
        "round": done.number,
        "cohort": done.cohort,
        "sampling": vars(done.sampling),
    }
    arrays = {f"state.{name}": array for name, array in done.state.arrays().items()}
    arrays[_HEADER] = np.array(json.dumps(header))
    write_atomically(path, lambda file: np.savez(file, **arrays))


def load_round(path: str | os.PathLike[str], plan: Plan) -> Round:
    """Read a round saved with the same plan; pass it to `rounds(..., resume=...)`."""
    header, arrays = _read(Path(path))
    _check_same_plan(path, header, json.loads(json.dumps(_agreement(plan))))
    state = {name.removeprefix("state."): array for name, array in arrays.items()}
    try:
        return Round(
            header["round"],
            plan.algorithm.state.from_arrays(state),
            tuple(header["cohort"]),
            sampling=ClientSampling(**header["sampling"]),
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise CheckpointError(f"{path}: not a readable checkpoint ({problem})") from None


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:
            arrays = {name: saved[name] for name in saved.files}
        header = json.loads(str(arrays.pop(_HEADER)))
    except FileNotFoundError:
        raise CheckpointError(f"{path}: no such checkpoint") from None
    except (OSError, ValueError, TypeError, AttributeError, KeyError, EOFError, BadZipFile) as bad:
        raise CheckpointError(f"{path}: not a readable checkpoint ({bad})") from None
    if not isinstance(header, dict) or not isinstance(header.get("plan"), dict):
        raise CheckpointError(
            f"{path}: not a readable checkpoint (its header is not a JSON object)"
        )
    return header, arrays


def _check_same_plan(path: Any, saved: dict[str, Any], now: dict[str, Any]) -> None:
    """Name the first setting that differs. The values of `init` are too long to be shown."""
    flat_saved, flat_now = (
        {**{k: v for k, v in one.items() if k != "plan"}, **one["plan"]} for one in (saved, now)
    )
    for name, value in flat_now.items():
        saved_value = flat_saved.get(name)
        if saved_value != value:
            shown = "" if name == "init" else f" ({saved_value!r}, now {value!r})"
            raise CheckpointError(
                f"{path}: saved with a different {name}{shown}; resume with the same "
                "settings, or start a new run"
            )
