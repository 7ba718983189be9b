"""Ids as owners write them, made comparable: one spelling for one record, or a clear refusal."""

import hmac
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..core import ConfigError, DataError
from ..typing import Array
from .tables import is_missing

ID_KINDS = ("auto", "text", "number")
_SECRET = 16  # characters: a shorter secret can be tried out


@dataclass(frozen=True)
class Ids:
    """An owner's ids in one spelling, and what they looked like: counts, which may be told."""

    owner: str
    text: tuple[str, ...]
    numbers: int  # given as numbers
    zero_led: int  # given as text with leading zeros


def read_ids(values: Any, owner: str, column: str, kind: str = "auto") -> Ids:
    """Ids in one spelling: spaces around them removed, numbers as text, each only once.

    With ``kind="number"`` text is read as a whole number, so that "001" is 1.
    """
    if kind not in ID_KINDS:
        raise ConfigError(f"ids must be one of {', '.join(map(repr, ID_KINDS))}, got {kind!r}")
    given = np.asarray(values, dtype=object).tolist()
    place = f"owner {owner!r}: id column {column!r}"
    missing = [r for r, v in enumerate(given) if is_missing(v) or not str(v).strip()]
    if missing:
        raise DataError(
            f"{place} is empty in {len(missing)} rows (first in row {missing[0]}); drop those rows"
        )
    text = tuple(_spelled(v, kind, f"{place}, row {r}") for r, v in enumerate(given))
    _refuse_duplicates(text, place)
    numbers = sum(not isinstance(v, str) for v in given)
    zero_led = sum(
        isinstance(v, str) and t != "0" and t.startswith("0")
        for v, t in zip(given, text, strict=True)
    )
    return Ids(owner, text, numbers, zero_led)


def _spelled(value: Any, kind: str, place: str) -> str:
    if isinstance(value, Real) and not isinstance(value, Integral):
        if not float(value).is_integer():
            raise DataError(f"{place}: {value!r} is no id: a number with a fraction")
        value = int(float(value))
    text = unicodedata.normalize("NFKC", str(value)).strip()
    if kind != "number":
        return text
    try:
        return str(int(text))
    except ValueError:
        raise DataError(f"{place}: {text!r} is not a whole number; use ids='text'") from None


def _refuse_duplicates(text: Sequence[str], place: str) -> None:
    first: dict[str, int] = {}
    for row, one in enumerate(text):
        if one in first:
            more = len(text) - len(set(text))
            raise DataError(
                f"{place}: {one!r} stands in rows {first[one]} and {row} ({more} rows repeat an "
                "id, spaces aside); a record must have one row"
            )
        first[one] = row


def comparable(ids: Mapping[str, Ids]) -> None:
    """Refuse spellings that cannot meet: leading zeros here, numbers, which lose them, there."""
    zeros = [i for i in ids.values() if i.zero_led]
    numbers = [i for i in ids.values() if i.numbers]
    if zeros and numbers:
        a, b = zeros[0], numbers[0]
        raise DataError(
            f"ids: owner {a.owner!r} has {a.zero_led} of {len(a.text)} ids with leading zeros, "
            f"owner {b.owner!r} has {b.numbers} as numbers, where zeros are lost; "
            "ids='number' reads all as numbers, or give all as text"
        )


def tokens(ids: Ids, secret: bytes) -> Array:
    """A keyed hash of each id (HMAC-SHA-256, its first 128 bits), as two numbers (N, 2)."""
    hashes = [hmac.digest(secret, one.encode(), "sha256")[:16] for one in ids.text]
    return np.frombuffer(b"".join(hashes), dtype="<u8").reshape(-1, 2)


def secret_bytes(secret: str | bytes) -> bytes:
    """The owners' secret as a key."""
    key = secret.encode() if isinstance(secret, str) else secret
    if not isinstance(key, bytes) or len(key) < _SECRET:
        raise ConfigError(
            f"secret must be text or bytes of at least {_SECRET} characters: a shorter one can be "
            "tried out"
        )
    return key
