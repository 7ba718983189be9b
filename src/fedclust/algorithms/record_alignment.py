"""Record alignment: finds the records that all owners have, from keyed hashes of their ids.

Owners share a secret that the server does not know; each sends a keyed hash of every id, and the
server returns those that all of them sent. The server learns how many ids there are and how many
are shared. Without the key it cannot test guessed ids. Owners have the key: see docs/vertical.md.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ..core import Data, Dims, Empty, OneRoundQuery, Schema, Stacked, Traits
from ..core.algorithm import Partition
from ..typing import Array, IntArray, Rng


@dataclass(frozen=True, eq=False)
class Tokens(Stacked):
    """A keyed hash of each id, in two halves, and a 1 by which owners are counted."""

    tokens: Annotated[Array, Dims("T", "halves")]
    owners: Annotated[Array, Dims("M")]


@dataclass(frozen=True, eq=False)
class RecordAlignment(OneRoundQuery[Empty, Tokens]):
    """One round: owners send tokens, and the result is the shared ones."""

    key: ClassVar[str] = "record-alignment"
    partition: ClassVar[Partition] = "vertical"
    # Keyed hashes of ids, no values: this does not count as a query.
    traits: ClassVar[Traits] = Traits(reads_rows=False)

    def broadcast(self, state: Empty) -> Empty:
        return Empty()

    def client_step(self, down: Empty, data: Data, rng: Rng) -> Tokens:
        return Tokens(np.asarray(data.X), np.ones(1))

    def model(self, state: Tokens) -> Array:
        """The tokens that every owner sent, in ascending order: the order of the records."""
        tokens, counts = np.unique(state.tokens, axis=0, return_counts=True)
        shared: Array = tokens[counts == len(state.owners)]
        return shared

    def assign(self, model: Array, data: Data) -> IntArray:
        """Owner: its rows of the shared records, in their common order."""
        row_of = {tuple(token): row for row, token in enumerate(np.asarray(data.X).tolist())}
        return np.array([row_of[tuple(token)] for token in model.tolist()], dtype=np.int64)

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"halves": 2}
