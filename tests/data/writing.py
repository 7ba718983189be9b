"""Write numbers and tables in any notation and dialect."""

import bz2
import csv
import gzip
import io
import itertools
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fedclust.data import ReadOptions
from fedclust.data.numbers import Notation

NOTATIONS = [
    Notation(decimal, thousands)
    for decimal, thousands in itertools.product(".,", ("", ".", ",", " ", "'"))
    if decimal != thousands
]


def written(value: int, digits: int, notation: Notation) -> str:
    """An integer divided by a power of ten, in a notation."""
    text = f"{abs(value):0{digits + 1}d}"
    whole, fraction = (text[:-digits], text[-digits:]) if digits else (text, "")
    if notation.thousands:
        whole = f"{int(whole):,}".replace(",", notation.thousands)
    return ("-" if value < 0 else "") + whole + (notation.decimal + fraction if digits else "")


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@dataclass(frozen=True)
class Written:
    """How a table is written."""

    delimiter: str = ","
    notation: Notation = Notation()
    encoding: str = "utf-8"
    newline: str = "\n"
    packed: str = ""
    comments: int = 0
    quote_all: bool = False

    def save(self, folder: Path, columns: dict[str, list[str]]) -> Path:
        text = io.StringIO(newline="")
        writer = csv.writer(
            text,
            delimiter=self.delimiter,
            lineterminator=self.newline,
            quoting=csv.QUOTE_ALL if self.quote_all else csv.QUOTE_MINIMAL,
        )
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        above = f"# exported, by somebody; in 2024{self.newline}" * self.comments
        file = folder / f"t.csv{self.packed}"
        file.write_bytes(PACKERS[self.packed]((above + text.getvalue()).encode(self.encoding)))
        return file

    @property
    def options(self) -> ReadOptions:
        return ReadOptions(
            delimiter=self.delimiter,
            decimal=self.notation.decimal,
            thousands=self.notation.thousands,
            encoding=self.encoding,
            comment="#" if self.comments else None,
        )
