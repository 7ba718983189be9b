"""Fail where a package of fedclust is covered less than it has to be."""

import json
import subprocess
import sys
from collections import defaultdict

FLOOR = dict.fromkeys(("core", "kernels", "algorithms", "privacy"), 100)
FLOOR["papers"] = 65  # what it measures needs data sets that a machine may not have
ELSEWHERE = 90


def main() -> int:
    """Compare the last run's coverage with the floor of each package."""
    report = subprocess.run(
        [sys.executable, "-m", "coverage", "json", "-q", "-o", "-"],
        capture_output=True,
        text=True,
        check=True,
    )
    lines: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for path, found in json.loads(report.stdout)["files"].items():
        parts = path.replace("\\", "/").split("fedclust/")[-1].split("/")
        package = parts[0] if len(parts) > 1 else "(top)"
        lines[package][0] += found["summary"]["covered_lines"]
        lines[package][1] += found["summary"]["num_statements"]
    low = []
    for package, (covered, total) in sorted(lines.items()):
        share = 100 * covered / max(total, 1)
        floor = FLOOR.get(package, ELSEWHERE)
        print(f"{package:12} {share:6.1f} %  (at least {floor} %)")  # noqa: T201
        if share < floor:
            low.append(package)
    if not lines or low:
        print(f"too little coverage: {', '.join(low) or 'nothing was measured'}")  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
