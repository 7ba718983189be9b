"""Ids as owners write them, made comparable: one spelling for one record, or a clear refusal."""

import hmac
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..core import ConfigError, DataError
from ..typing import Array
from .values import is_missing

ID_KINDS = ("auto", "number")
_SECRET = 16  # characters: a shorter secret can be tried out
_EXACT = 2.0**53  # whole numbers beyond are rounded in a float
_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060"))


@dataclass(frozen=True)
class Ids:
    """An owner's ids in one spelling, and what they looked like: counts, which may be told."""

    owner: str
    text: tuple[str, ...]

    @property
    def digits(self) -> list[str]:
        """The ids that are digits and nothing else."""
        return [one for one in self.text if one.isascii() and one.isdigit()]

    @property
    def zero_led(self) -> list[str]:
        """Those of them that begin with a zero which a number would lose."""
        return [one for one in self.digits if len(one) > 1 and one.startswith("0")]


def read_ids(values: Any, owner: str, column: str, kind: str = "auto") -> Ids:
    """Ids in one spelling: spaces around them removed, numbers as text, each only once.

    With ``kind="number"`` text is read as a whole number, so that "001" is 1.
    """
    if kind not in ID_KINDS:
        raise ConfigError(f"ids must be one of {', '.join(map(repr, ID_KINDS))}, got {kind!r}")
    place = f"owner {owner!r}: id column {column!r}"
    given = np.asarray(values, dtype=object)
    if given.ndim != 1:
        raise DataError(f"{place} must hold one id per row")
    missing = [r for r, v in enumerate(given) if is_missing(v) or not str(v).strip()]
    if missing:
        raise DataError(
            f"{place} is empty in {len(missing)} rows (first in row {missing[0]}); drop those rows"
        )
    text = tuple(_spelled(v, kind, f"{place}, row {r}") for r, v in enumerate(given))
    _refuse_duplicates(text, place)
    return Ids(owner, text)


def _spelled(value: Any, kind: str, place: str) -> str:
    if isinstance(value, Real) and not isinstance(value, Integral):
        value = _whole(float(value), place)
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    text = unicodedata.normalize("NFKC", str(value)).translate(_INVISIBLE).strip()
    if kind != "number":
        return text
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise DataError(f"{place}: {text[:40]!r} is not a whole number; use ids='auto'")
    sign = "-" if text.startswith("-") else ""
    return sign + (text.lstrip("+-").lstrip("0") or "0")


def _whole(value: float, place: str) -> int:
    if not value.is_integer():
        raise DataError(f"{place}: {value!r} is no id: not a whole number")
    if abs(value) >= _EXACT:
        raise DataError(
            f"{place}: {value:.0f} was rounded when it was read as a decimal number; read the id "
            "column as text"
        )
    return int(value)


def _refuse_duplicates(text: Sequence[str], place: str) -> None:
    first: dict[str, int] = {}
    for row, one in enumerate(text):
        if one in first:
            more = len(text) - len(set(text))
            raise DataError(
                f"{place}: {one[:40]!r} stands in rows {first[one]} and {row} ({more} rows repeat "
                "an id, spaces aside); a record must have one row"
            )
        first[one] = row


def comparable(ids: Mapping[str, Ids]) -> None:
    """Refuse spellings that cannot meet: leading zeros here, shorter numbers without them there."""
    for a in ids.values():
        width = min(map(len, a.zero_led), default=0)
        for b in ids.values():
            if not b.zero_led and any(len(one) < width for one in b.digits):
                raise DataError(
                    f"ids: owner {a.owner!r} has {len(a.zero_led)} of {len(a.text)} ids with "
                    f"leading zeros, owner {b.owner!r} has none and shorter ones; ids='number' "
                    "reads all as numbers, or write them alike"
                )


def tokens(ids: Ids, secret: bytes) -> Array:
    """A keyed hash of each id (HMAC-SHA-256, its first 128 bits), as two numbers (N, 2)."""
    hashes = [hmac.digest(secret, encoded(one), "sha256")[:16] for one in ids.text]
    return np.frombuffer(b"".join(hashes), dtype="<u8").reshape(-1, 2)


def encoded(one: str) -> bytes:
    """An id as bytes, whatever characters it has."""
    return one.encode("utf-8", "surrogatepass")


def secret_bytes(secret: str | bytes) -> bytes:
    """The owners' secret as a key."""
    key = secret.encode() if isinstance(secret, str) else secret
    if not isinstance(key, bytes) or len(key) < _SECRET:
        raise ConfigError(
            f"secret must be text or bytes of at least {_SECRET} characters: a shorter one can be "
            "tried out"
        )
    return key
