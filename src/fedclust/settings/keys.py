"""Settings of a dataclass: the annotation of a field gives its type and its constraints.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Sampling:
...     fraction: Annotated[float, Key("share of clients", low=0, high=1, above=True)] = 1.0
>>> [setting.name for setting in settings_of(Sampling)]
['fraction']
>>> settings_of(Sampling)[0].expected(2.0)
'at most 1'
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import NoneType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints


class Choices(Collection[str]):
    """The names of several collections as one, including names that are added later."""

    def __init__(self, *parts: Collection[str]) -> None:
        self._parts = parts

    def __contains__(self, name: object) -> bool:
        return any(name in part for part in self._parts)

    def __iter__(self) -> Iterator[str]:
        for part in self._parts:
            yield from part

    def __len__(self) -> int:
        return sum(map(len, self._parts))


@dataclass(frozen=True, eq=False)
class Key:
    """The meaning of a setting and the values it accepts; its type is the field's annotation."""

    help: str
    choices: Collection[str] = ()  # of a string, or of each string in a list
    low: float | None = None
    high: float | None = None
    above: bool = False  # `low` itself is not accepted
    pattern: str = ""  # a regular expression for the whole string
    form: str = ""  # the pattern in words
    hidden: bool = False  # error messages do not repeat the value
    aliases: tuple[str, ...] = ()  # names that other programs have for it; messages name ours
    hints: Mapping[str, str] = field(default_factory=dict)  # what to write instead of a value


@dataclass(frozen=True)
class Kind:
    """A type of values in TOML: its name, its test and its JSON schema."""

    name: str
    accepts: Callable[[Any], bool]
    schema: Mapping[str, Any]


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_integer(value) or isinstance(value, float)


def _is_range(value: Any) -> bool:
    pair = isinstance(value, list) and len(value) == 2 and all(map(_is_integer, value))
    return pair and value[0] < value[1]


def _is_list_of(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(v, types) for v in value)


_STRING, _INTEGER = {"type": "string"}, {"type": "integer"}
_SCALAR = {"type": ["string", "number", "boolean"]}
_PAIR = {"type": "array", "items": _INTEGER, "minItems": 2, "maxItems": 2}
_KINDS: Mapping[Any, Kind] = {
    str: Kind("a string", lambda value: isinstance(value, str), _STRING),
    bool: Kind("true or false", lambda value: isinstance(value, bool), {"type": "boolean"}),
    int: Kind("an integer", _is_integer, _INTEGER),
    float: Kind("a number", _is_number, {"type": "number"}),
    tuple[str, ...]: Kind(
        "a list of strings", _is_list_of(str), {"type": "array", "items": _STRING}
    ),
    tuple[str | int | float, ...]: Kind(
        "a list of strings or numbers",
        _is_list_of(str, int, float),
        {"type": "array", "items": _SCALAR},
    ),
    tuple[int, int]: Kind(
        "two integers, the first below the second, such as [2, 15]", _is_range, _PAIR
    ),
    int | Literal["auto"]: Kind(
        'an integer or "auto"',
        lambda value: _is_integer(value) or value == "auto",
        {"anyOf": [_INTEGER, {"const": "auto"}]},
    ),
}


@dataclass(frozen=True)
class Setting:
    """One field of a settings class."""

    name: str
    kind: Kind
    key: Key
    default: Any = MISSING

    @property
    def required(self) -> bool:
        """Whether a file must give it."""
        return self.default is MISSING

    def unknown_choice(self, value: Any) -> str | None:
        """The first string that is not one of the choices."""
        items = value if isinstance(value, list) else [value]
        choices = self.key.choices
        # A known name is accepted without a list of all names, which can be slow to make.
        return next((item for item in items if item not in choices and len(choices)), None)

    def hint(self, value: Any) -> str:
        """What to write instead of a value that is not accepted; empty if that is not known."""
        return self.key.hints.get(_letters(value), "") if isinstance(value, str) else ""

    def is_called(self, name: str) -> bool:
        """Whether other programs call the setting by this name."""
        return _letters(name) in map(_letters, self.key.aliases)

    def expected(self, value: Any) -> str:
        """What the value should have been, in words; empty if it is accepted."""
        key = self.key
        if not self.kind.accepts(value):
            return self.kind.name
        if self.unknown_choice(value) is not None:
            return f"one of {', '.join(key.choices)}"
        if key.pattern and not re.fullmatch(key.pattern, value):
            return key.form
        least = value[0] if self.kind.schema is _PAIR else value
        if _is_number(least):
            return self._beyond_limits(least)
        return ""

    def _beyond_limits(self, value: float) -> str:
        key = self.key
        if key.low is not None and (value < key.low or (key.above and value == key.low)):
            return f"{'above' if key.above else 'at least'} {key.low:g}"
        if key.high is not None and value > key.high:
            return f"at most {key.high:g}"
        return ""


def _letters(name: str) -> str:
    """A name without case and punctuation."""
    return re.sub(r"[^a-z0-9+]", "", name.lower())


def settings_of(owner: type) -> tuple[Setting, ...]:
    """The settings of a dataclass: its fields that are annotated with a `Key`."""
    hints = get_type_hints(owner, include_extras=True)
    found = []
    for one in fields(owner):
        hint = hints[one.name]
        if get_origin(hint) is not Annotated:
            continue
        type_, *extras = get_args(hint)
        for key in extras:
            if isinstance(key, Key):
                found.append(Setting(one.name, _kind_of(type_), key, one.default))
    return tuple(found)


def _kind_of(hint: Any) -> Kind:
    """The kind of an annotation; `| None` stands for a key that can be left out."""
    if NoneType in get_args(hint):
        hint = Union[tuple(part for part in get_args(hint) if part is not NoneType)]  # noqa: UP007
    return _KINDS[hint]
