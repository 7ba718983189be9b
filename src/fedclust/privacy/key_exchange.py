"""Keys before masks: one round in which every client offers a public key, signed."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ..core import Data, Dims, Empty, OneRoundQuery, Schema, Stacked, Traits
from ..typing import Array, Rng
from .policy import policy_of


@dataclass(frozen=True, eq=False)
class Offers(Stacked):
    """A key for the run, the client's identity, and its signature; one row per client."""

    public: Annotated[Array, Dims("M", "key")]
    signer: Annotated[Array, Dims("M", "key")]
    signature: Annotated[Array, Dims("M", "signature")]


@dataclass(frozen=True, eq=False)
class KeyExchange(OneRoundQuery[Empty, Offers]):
    """Public keys of all clients; the server passes them on, and learns no secret."""

    run: str  # a new name for every run, or masks would repeat

    key: ClassVar[str] = "key-exchange"
    # It reads no rows, so it is not a query.
    traits: ClassVar[Traits] = Traits(reads_rows=False)

    def broadcast(self, state: Empty) -> Empty:
        return Empty()

    def client_step(self, down: Empty, data: Data, rng: Rng) -> Offers:
        keys = policy_of(data).keys
        public, signed = keys.offer(self.run)
        return Offers(_row(public), _row(keys.identity), _row(signed))

    def model(self, state: Offers) -> tuple[tuple[str, str, str], ...]:
        """Key, identity and signature of every client, in the order of their ids."""
        rows = zip(state.public, state.signer, state.signature, strict=True)
        return tuple((p.tobytes().hex(), i.tobytes().hex(), s.tobytes().hex()) for p, i, s in rows)

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"key": 32, "signature": 64}


def _row(raw: bytes) -> Array:
    return np.frombuffer(raw, np.uint8)[None]
