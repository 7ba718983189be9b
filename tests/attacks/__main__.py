"""Print the table of attacks: ``python -m attacks`` in the folder tests."""

import warnings

from .table import lines

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for line in lines():
        print(line, flush=True)  # noqa: T201
