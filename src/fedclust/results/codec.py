"""Dataclasses as JSON values, and back with errors that name the place of a wrong value."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from ..core import ConfigError, DataError
from ..typing import FloatArray

T = TypeVar("T")

_SCALARS: Mapping[Any, str] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "text",
}


def to_json(value: Any) -> Any:
    """Convert a value to plain JSON types; numbers that are not finite become null."""
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): to_json(inner) for name, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return to_json(value.tolist())
    if isinstance(value, list | tuple | range):
        return [to_json(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def build(kind: type[T], value: Any, where: str) -> T:
    """Build a dataclass from a JSON value.

    Fields that the class does not have are ignored. Fields with a default may be absent. A wrong
    value is a `DataError` that starts with `where`, the name of the file, and the path inside it.
    """
    try:
        built: T = _build(kind, value)
    except _Unexpected as problem:
        path = problem.path.removeprefix(".")
        raise DataError(": ".join(filter(None, (where, path, problem.text)))) from None
    return built


class _Unexpected(Exception):
    """A value that its type does not allow."""

    def __init__(self, text: str, path: str = "") -> None:
        super().__init__(text)
        self.text, self.path = text, path


def _build(kind: Any, value: Any) -> Any:
    origin = get_origin(kind)
    if kind is Any:
        return value
    if origin in (Union, UnionType):
        return _build_optional(kind, value)
    if origin is np.ndarray:
        return _build_array(value)
    if origin is tuple:
        return _build_tuple(get_args(kind), value)
    if origin is Literal:
        return _build_literal(get_args(kind), value)
    if origin is not None:
        return _build_mapping(get_args(kind)[1], value)
    if is_dataclass(kind):
        return _build_dataclass(kind, value)
    return _build_scalar(kind, value)


def _build_optional(kind: Any, value: Any) -> Any:
    """The value, or None; a number that is not finite is not known, so it is None as well."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    (inner,) = (option for option in get_args(kind) if option is not type(None))
    return _build(inner, value)


def _build_scalar(kind: Any, value: Any) -> Any:
    accepted = (int, float) if kind is float else kind
    if (
        not isinstance(value, accepted)
        or (isinstance(value, bool) and kind is not bool)
        or (kind is float and not math.isfinite(value))
    ):
        raise _unexpected(_SCALARS[kind], value)
    return value


def _build_literal(options: tuple[Any, ...], value: Any) -> Any:
    if value not in options:
        raise _unexpected(" or ".join(map(repr, options)), value)
    return value


def _build_tuple(inner: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    """A list: of any length for ``tuple[X, ...]``, of two items for ``tuple[X, Y]``."""
    if inner[-1] is Ellipsis:
        items = _list(value)
        kinds = inner[:1] * len(items)
    else:
        items, kinds = _list(value, len(inner)), inner
    pairs = enumerate(zip(kinds, items, strict=True))
    return tuple(_build_inside(f"[{place}]", kind, item) for place, (kind, item) in pairs)


def _build_array(value: Any) -> FloatArray:
    """A list of numbers, or of such lists that are equally long; null is NaN."""
    if _list(value) and isinstance(value[0], list | tuple):
        rows = [_build_inside(f"[{i}]", FloatArray, row) for i, row in enumerate(value)]
        if len({row.shape for row in rows}) > 1:
            raise _unexpected("lists of the same length", value)
        return np.stack(rows)
    items = enumerate(_list(value))
    numbers = [_build_inside(f"[{place}]", float | None, item) for place, item in items]
    return np.array(numbers, dtype=float)


def _list(value: Any, length: int | None = None) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, list | tuple) or length not in (None, len(value)):
        raise _unexpected("a list" if length is None else f"a list of {length} values", value)
    return value


def _build_mapping(inner: Any, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _unexpected("an object with names and values", value)
    return {name: _build_inside(f".{name}", inner, item) for name, item in value.items()}


def _build_dataclass(kind: Any, value: Any) -> Any:
    known = fields(kind)
    if not isinstance(value, Mapping):
        names = ", ".join(field.name for field in known)
        raise _unexpected(f"an object with {names}", value)
    given = {}
    for field in known:
        if field.name in value:
            kind_of_field = _types_of(kind)[field.name]
            given[field.name] = _build_inside(f".{field.name}", kind_of_field, value[field.name])
        elif field.default is MISSING and field.default_factory is MISSING:
            raise _Unexpected("missing", f".{field.name}")
    try:
        return kind(**given)
    except ConfigError as problem:  # the class has checks of its own
        raise _Unexpected(str(problem)) from None


@cache
def _types_of(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _build_inside(step: str, kind: Any, value: Any) -> Any:
    try:
        return _build(kind, value)
    except _Unexpected as problem:
        raise _Unexpected(problem.text, step + problem.path) from None


def _unexpected(expected: str, value: Any) -> _Unexpected:
    return _Unexpected(f"expected {expected}, got {repr(value)[:40]}")
