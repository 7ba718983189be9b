"""What the files of a run folder must look like, so that a damaged one is named in one sentence."""

from collections.abc import Callable, Mapping
from typing import Any

from ..core import DataError

Check = Callable[[Any, str], None]  # the value, and where it stands in the file


def _simple(kind: type | tuple[type, ...], words: str) -> Check:
    def check(value: Any, where: str) -> None:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            shown = repr(value)
            raise DataError(f"{where} must be {words}, got {shown[:40]}")

    return check


number = _simple((int, float), "a number")
whole = _simple(int, "a whole number")
text = _simple(str, "a text")
flag = _simple(bool, "true or false")


def maybe(inner: Check) -> Check:
    """Or null: not known, or withheld."""

    def check(value: Any, where: str) -> None:
        if value is not None:
            inner(value, where)

    return check


def all_of(*inner: Check) -> Check:
    """What passes all of them."""

    def check(value: Any, where: str) -> None:
        for one in inner:
            one(value, where)

    return check


def each(inner: Check, length: int | None = None) -> Check:
    """A list."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, list) or length not in (None, len(value)):
            wanted = "a list" if length is None else f"a list of {length}"
            raise DataError(f"{where} must be {wanted}")
        for place, one in enumerate(value):
            inner(one, f"{where}[{place}]")

    return check


def named(inner: Check) -> Check:
    """A table with any names."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, Mapping):
            raise DataError(f"{where} must be a table of names and values")
        for name, one in value.items():
            inner(one, f"{where}.{name}")

    return check


def fields(**inner: Check) -> Check:
    """A table with at least these names."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, Mapping):
            raise DataError(f"{where} must be a table with {', '.join(inner)}")
        for name, one in inner.items():
            if name not in value:
                raise DataError(f"{where} has no {name!r}")
            one(value[name], f"{where}.{name}")

    return check


MODEL = fields(
    fedclust=text,
    created=text,
    study=text,
    algorithm=fields(algorithm=text),
    lossless=flag,
    soft=flag,
    columns=each(text),
    clusters=each(fields(id=whole, size=maybe(number))),
    inertia=maybe(number),
    rounds=whole,
    converged=flag,
    bytes_sent=named(number),
    privacy=fields(tier=text, guarantee=text),
    seed=maybe(whole),
    versions=named(text),
    preparation=fields(
        columns=each(fields(name=text, categories=each(text), log=flag, unit=maybe(text))),
        offset=each(number),
        scale=each(number),
        fill=maybe(each(maybe(number))),
    ),
    like=maybe(text),
)

COLUMNS = fields(split=text, n_records=whole, owners=named(whole))  # where columns are split

LINE = fields(round=whole, n_clients=whole, shift=maybe(number), bytes_down=number, bytes_up=number)

_FEATURE = fields(
    name=text,
    unit=maybe(text),
    mean=maybe(number),
    sd=maybe(number),
    overall_mean=maybe(number),
    overall_sd=maybe(number),
    effect=maybe(number),
)

_MAP = fields(
    axes=each(fields(share=number, loadings=named(number)), length=2),
    ellipses=each(
        fields(id=whole, center=each(number, 2), radii=each(number, 2), angle=maybe(number))
    ),
    grid=fields(x=each(number), y=each(number), clients=named(each(each(maybe(number))))),
)

PROFILE = fields(
    minimum=whole,
    clients=each(
        fields(
            name=text,
            rows=maybe(whole),
            used=maybe(whole),
            left_out=maybe(whole),
            why=maybe(text),
            rounds=whole,
        )
    ),
    clusters=each(
        fields(
            id=whole,
            size=maybe(number),
            by_client=named(maybe(number)),
            features=each(_FEATURE),
            entropy=maybe(number),
        )
    ),
    map=maybe(_MAP),
    quality=each(fields(index=text, value=maybe(number), pooled=maybe(number), better=text)),
    phases=each(fields(name=text, rounds=whole, message=text, bytes_up=named(number))),
)

CHOICE = fields(
    recommended=whole,
    why=text,
    scores=each(all_of(fields(n_clusters=whole), named(maybe(number)))),
    favourites=named(whole),
)
