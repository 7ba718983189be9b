"""The command: see the package's docstring."""

import argparse
import sys
import tempfile
from pathlib import Path

from .cases import Case, all_cases
from .results import RECORDED, Result, differences, read_recorded, write_recorded
from .running import run_case


def main() -> int:
    """Compare the cases with the recorded results, or record them again."""
    parser = argparse.ArgumentParser(prog="python -m tests.net")
    parser.add_argument("text", nargs="?", default="", help="only cases whose names contain this")
    parser.add_argument("--write", action="store_true", help="record these cases again")
    options = parser.parse_args()
    recorded = dict(read_recorded()) if RECORDED.exists() else {}
    chosen = [case for case in all_cases() if options.text in case.name]
    lines = []
    for case in chosen:
        now = _run(case)
        lines += differences(case.name, recorded.get(case.name, {}), now)
        recorded[case.name] = now.as_json()
    print("\n".join(lines) or f"{len(chosen)} cases are as recorded")  # noqa: T201
    if options.write:
        write_recorded({case.name: recorded[case.name] for case in all_cases()})
        return 0
    return 1 if lines else 0


def _run(case: Case) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        return run_case(case, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
