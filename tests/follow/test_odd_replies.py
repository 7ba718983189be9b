"""A client whose masked message has another form than those of the others is named."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fedclust.core import TooFewClients
from fedclust.core.wire import Frame, pack, unpack
from fedclust.typing import Array

from ..support.following import Federation, Sites, tables

pytest.importorskip("cryptography")
CHANGES: dict[str, Callable[[Array], Array]] = {
    "shorter": lambda a: a[:-1],
    "longer": lambda a: np.append(a, a[:1]),
    "empty": lambda a: a[:0],
    "other integers": lambda a: a.astype(np.int32),
}


@pytest.mark.parametrize("liar", ["c00", "c03"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_message_of_another_form_ends_in_a_sentence(
    change: str, liar: str, tmp_path: Path
) -> None:
    """The server knows no length of sums in cells but the one that most clients send."""
    there = Federation(tmp_path / "kits", tables(4, 20, 4))

    def spoil(client: str, request: bytes, answer: bytes) -> bytes:
        if client != liar or unpack(request).header.get("algorithm") != "CellSeeding":
            return answer
        header, arrays = unpack(answer)
        return pack(*Frame(header, {n: CHANGES[change](a) for n, a in arrays.items()}))

    with pytest.raises(TooFewClients, match=f"no usable answer from {liar}, .* malformed reply"):
        there.run(tmp_path / "out", Sites(there, spoil), deadline=0.1)
