"""Normalise ids, so that owners can compare them: one spelling per record."""

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
_MIN_SECRET = 16  # characters: a shorter secret can be guessed
_EXACT = 2.0**53  # larger integers are rounded in a float
_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060"))


@dataclass(frozen=True)
class Ids:
    """An owner's ids in normalised spelling."""

    owner: str
    text: tuple[str, ...]

    @property
    def digits(self) -> list[str]:
        """Ids that consist of digits only."""
        return [one for one in self.text if one.isascii() and one.isdigit()]

    @property
    def with_leading_zero(self) -> list[str]:
        """Ids of digits with a leading zero, which a number would lose."""
        return [one for one in self.digits if len(one) > 1 and one.startswith("0")]


def read_ids(values: Any, owner: str, column: str, kind: str = "auto") -> Ids:
    """Normalise ids: trim spaces, convert numbers to text, refuse duplicates.

    With ``kind="number"`` text is read as an integer, so that "001" is 1.
    """
    if kind not in ID_KINDS:
        raise ConfigError(f"ids must be one of {', '.join(map(repr, ID_KINDS))}, got {kind!r}")
    place = f"owner {owner!r}: id column {column!r}"
    given = np.asarray(values, dtype=object)
    if given.ndim != 1:
        raise DataError(f"{place} must have one id per row")
    missing = [r for r, v in enumerate(given) if is_missing(v) or not str(v).strip()]
    if missing:
        raise DataError(
            f"{place} is missing in {len(missing)} rows (first in row {missing[0]}); drop them"
        )
    text = tuple(_normalise(v, kind, f"{place}, row {r}") for r, v in enumerate(given))
    _refuse_duplicates(text, place)
    return Ids(owner, text)


def _normalise(value: Any, kind: str, place: str) -> str:
    if isinstance(value, Real) and not isinstance(value, Integral):
        value = _as_integer(float(value), place)
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    text = unicodedata.normalize("NFKC", str(value)).translate(_INVISIBLE).strip()
    if kind != "number":
        return text
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise DataError(f"{place}: {text[:40]!r} is not an integer; use ids='auto'")
    sign = "-" if text.startswith("-") else ""
    return sign + (text.lstrip("+-").lstrip("0") or "0")


def _as_integer(value: float, place: str) -> int:
    if not value.is_integer():
        raise DataError(f"{place}: {value!r} is not a valid id, because it is not an integer")
    if abs(value) >= _EXACT:
        raise DataError(
            f"{place}: {value:.0f} is too large for a float and may have been rounded; read the id "
            "column as text"
        )
    return int(value)


def _refuse_duplicates(text: Sequence[str], place: str) -> None:
    first: dict[str, int] = {}
    for row, one in enumerate(text):
        if one in first:
            more = len(text) - len(set(text))
            raise DataError(
                f"{place}: {one[:40]!r} occurs in rows {first[one]} and {row} ({more} rows repeat "
                "an id, ignoring spaces); keep one row per id"
            )
        first[one] = row


def check_comparable(ids: Mapping[str, Ids]) -> None:
    """Refuse spellings that cannot match: one owner pads with zeros, another does not."""
    for a in ids.values():
        width = min(map(len, a.with_leading_zero), default=0)
        for b in ids.values():
            if not b.with_leading_zero and any(len(one) < width for one in b.digits):
                raise DataError(
                    f"ids: owner {a.owner!r} has {len(a.with_leading_zero)} of {len(a.text)} ids "
                    f"with leading zeros, but owner {b.owner!r} has shorter ids without them; "
                    "use ids='number', or write the ids in the same way"
                )


def hash_ids(ids: Ids, secret: bytes) -> Array:
    """Keyed hash of each id (first 128 bits of HMAC-SHA-256) as two integers (N, 2)."""
    hashes = [hmac.digest(secret, encode_id(one), "sha256")[:16] for one in ids.text]
    return np.frombuffer(b"".join(hashes), dtype="<u8").reshape(-1, 2)


def encode_id(text: str) -> bytes:
    """Encode an id as bytes; any character is allowed."""
    return text.encode("utf-8", "surrogatepass")


def secret_bytes(secret: str | bytes) -> bytes:
    """Convert the owners' shared secret to a key."""
    key = secret.encode() if isinstance(secret, str) else secret
    if not isinstance(key, bytes) or len(key) < _MIN_SECRET:
        raise ConfigError(
            f"secret must be text or bytes of at least {_MIN_SECRET} characters; a shorter one "
            "can be guessed"
        )
    return key
