"""Print the table of attacks: ``python -m tests.attacks``."""

import warnings

from .table import lines

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for line in lines():
        print(line, flush=True)  # noqa: T201
