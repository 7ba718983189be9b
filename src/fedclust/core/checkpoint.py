"""A round on disk: named arrays in one file, written whole or not at all."""

import json
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile

import numpy as np

from .errors import CheckpointError
from .loop import AnyAlgorithm, Plan, Round

_FORMAT = 1
_HEADER = "fedclust"


def config(algorithm: AnyAlgorithm) -> dict[str, Any]:
    """The algorithm as plain values: its registry key and its fields."""
    values = {f.name: getattr(algorithm, f.name) for f in fields(algorithm)}  # type: ignore[arg-type]
    plain = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in values.items()}
    return {"algorithm": algorithm.key, **plain}


def _agreement(plan: Plan) -> dict[str, Any]:
    """What must be the same for a resumed run to be the same run."""
    return {
        "format": _FORMAT,
        "plan": config(plan.algorithm),
        "transforms": [repr(t) for t in plan.transforms],
        "seed": plan.seed,
    }


def save_round(path: str | os.PathLike[str], plan: Plan, done: Round) -> None:
    """Write a round to `path`, atomically: after a crash the old file or the new one is there."""
    header = {**_agreement(plan), "round": done.number, "cohort": list(done.cohort)}
    arrays = {f"state.{name}": array for name, array in done.state.arrays().items()}
    arrays[_HEADER] = np.array(json.dumps(header))
    write_atomically(path, lambda file: np.savez(file, **arrays))


def write_atomically(path: str | os.PathLike[str], write: Callable[[BinaryIO], None]) -> None:
    """Write a file so that, whenever the process dies, the old or the new content is there."""
    target = Path(path)
    scratch = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with open(scratch, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, target)
    finally:
        scratch.unlink(missing_ok=True)


def load_round(path: str | os.PathLike[str], plan: Plan) -> Round:
    """Read a round that this very plan has saved; pass it to `rounds(..., resume=...)`."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:
            arrays = {name: saved[name] for name in saved.files}
        header = json.loads(str(arrays.pop(_HEADER)))
    except FileNotFoundError:
        raise CheckpointError(f"{path}: there is no such checkpoint") from None
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as problem:
        raise CheckpointError(f"{path}: not a readable checkpoint ({problem})") from None
    for name, wanted in _agreement(plan).items():
        if header.get(name) != json.loads(json.dumps(wanted)):
            raise CheckpointError(
                f"{path}: saved with another {name} ({header.get(name)!r}, now {wanted!r}); "
                "resume with the same settings, or start anew"
            )
    state = {name.removeprefix("state."): array for name, array in arrays.items()}
    return Round(header["round"], plan.algorithm.state.from_arrays(state), tuple(header["cohort"]))
