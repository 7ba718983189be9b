"""One client's folder, with values that can be recognized wherever they turn up."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from fedclust.client.endpoint import ClientEndpoint
from fedclust.data.ids import hash_ids, read_ids
from fedclust.typing import Array

CLIENT, STUDY, RUN, AUTHOR = "west", "heights", "run7c1", "ana@example.org"
SECRET = "numbat-secret-4417-only-owners"
IDENTITY = "5e" * 16 + "c7" * 16  # the client's private identity, as it is in identity.key
FILE = "quokka_people.csv"
ID, NUMBERS, WORDS = (
    "passport_no",
    ("height_cm", "weight_kg", "salary_eur"),
    ("city", "diagnosis"),
)
CITIES = ("Oslo", "Bergen")
N_ROWS = 40

Table = dict[str, list[str]]


def good_table(n: int = N_ROWS) -> Table:
    """Rows without any problem; every value and every id occurs once, but for the words."""
    rng = np.random.default_rng(4)
    table = {ID: [f"PX-{881734 + 7 * i}" for i in range(n)]}
    for name, low, high in zip(NUMBERS, (150, 50, 30_000), (200, 99, 90_000), strict=True):
        table[name] = [f"{value:.7f}" for value in rng.uniform(low, high, n)]
    table["city"] = [CITIES[i % 2] for i in range(n)]
    table["diagnosis"] = [f"kuru-type-{'QRS'[i % 3]}" for i in range(n)]
    return table


def csv_text(table: Mapping[str, Iterable[str]]) -> str:
    lines = [",".join(table), *(",".join(row) for row in zip(*table.values(), strict=True))]
    return "\n".join(lines) + "\n"


def settings_text(
    consent: str = "split_columns = true", data: str = "", output: str = "", file: str = FILE
) -> str:
    """A client.toml that allows everything by default."""
    lines = [f'file = "{file}"', f'id = "{ID}"', f'secret = "{SECRET}"', data]
    return "\n".join(["[data]", *lines, "[consent]", consent, "[output]", output, ""])


def write_kit(folder: Path, text: str | None = None) -> Path:
    """The folder of a client, with its data and client.toml."""
    kit = folder / "wallaby_kit"
    kit.mkdir(parents=True)
    (kit / FILE).write_text(csv_text(good_table()))
    (kit / "client.toml").write_text(text or settings_text())
    return kit


def endpoint(kit: Path) -> ClientEndpoint:
    return ClientEndpoint(kit, CLIENT, STUDY)


class Wire:
    """A transport to one client, which keeps all bytes that leave it."""

    def __init__(self, site: ClientEndpoint) -> None:
        self._site = site
        self.left: list[bytes] = []

    def clients(self) -> list[str]:
        return [CLIENT]

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        self.left.append(self._site.answer(request, AUTHOR))
        yield CLIENT, self.left[-1]


def tokens_of(ids: Iterable[str]) -> Array:
    """What a server gets for ids, in ascending order."""
    found = hash_ids(read_ids(list(ids), CLIENT, ID), SECRET.encode())
    ordered: Array = np.unique(found, axis=0)
    return ordered
