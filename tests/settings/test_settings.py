"""Settings classes: constraints from annotations, errors with lines, a JSON schema."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from fedclust import ConfigError
from fedclust.settings import Choices, Key, TomlFile, settings_of, table_schema

COLOURS = {"red": 1}


@dataclass(frozen=True, kw_only=True)
class Shared:
    names: Annotated[tuple[str, ...], Key("names", COLOURS)] = ()


@dataclass(frozen=True, kw_only=True)
class Example(Shared):
    size: Annotated[int, Key("how large", low=1, high=9)]
    share: Annotated[float | None, Key("how much", low=0, above=True)] = None
    colour: Annotated[str, Key("which", Choices(("none",), COLOURS))] = "none"
    count: Annotated[int | Literal["auto"], Key("how many", low=1)] = "auto"
    span: Annotated[tuple[int, int] | None, Key("from, to", low=2)] = None
    host: Annotated[str, Key("where", pattern="[a-z]+", form="lower-case letters")] = "here"
    secret: Annotated[str, Key("password", hidden=True)] = ""
    values: Annotated[tuple[str | int | float, ...], Key("anything")] = ()
    on: Annotated[bool, Key("switch")] = False
    note: dict[str, Any] = field(default_factory=dict)  # without a Key it is not a setting


def read(folder: Path, text: str) -> Example:
    (folder / "x.toml").write_text(text)
    return TomlFile.read(folder / "x.toml", ("table", "other")).section(Example, "table")


def test_values_and_defaults_become_attributes(tmp_path: Path) -> None:
    assert read(tmp_path, "[table]\nsize = 3") == Example(size=3)
    text = '[table]\nsize = 3\nshare = 1\nspan = [2, 4]\nvalues = ["a", 1]\nnames = ["red"]'
    expected = Example(size=3, share=1, span=(2, 4), values=("a", 1), names=("red",))
    assert read(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("size = true", "x.toml:2: size must be an integer, got True"),
        ("size = 1.5", "x.toml:2: size must be an integer, got 1.5"),
        ("size = 0", "x.toml:2: size must be at least 1, got 0"),
        ("size = 10", "x.toml:2: size must be at most 9, got 10"),
        ("", "x.toml:1: [table] needs size: how large"),
        ("size = 1\nshare = 0", "x.toml:3: share must be above 0, got 0"),
        ('size = 1\ncolour = "reed"', "one of none, red, got 'reed'; did you mean 'red'?"),
        ('size = 1\nnames = ["red", "bed"]', "one of red, got 'bed'; did you mean 'red'?"),
        ("size = 1\ncount = 0", "count must be at least 1, got 0"),
        ('size = 1\ncount = "all"', """count must be an integer or "auto", got 'all'"""),
        ("size = 1\nspan = [3, 3]", "span must be two integers, the first below the second"),
        ("size = 1\nspan = [1, 3]", "span must be at least 2, got [1, 3]"),
        ('size = 1\nhost = "Here"', "host must be lower-case letters, got 'Here'"),
        ("size = 1\nvalues = [[]]", "values must be a list of strings or numbers, got [[]]"),
        ("size = 1\non = 1", "on must be true or false, got 1"),
        ("size = 1\nnote = {}", "x.toml:3: [table] has no key 'note'"),
        ("sise = 1", "x.toml:2: [table] has no key 'sise'; did you mean 'size'?"),
        ("size = 1\n[tabel]", "x.toml:3: there is no table [tabel]; did you mean 'table'?"),
    ],
)
def test_errors_name_line_key_and_remedy(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, f"[table]\n{line}\n")
    assert message in str(caught.value)


def test_hidden_values_are_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"secret must be a string$"):
        read(tmp_path, "[table]\nsize = 1\nsecret = 1234\n")


def test_names_that_are_added_later_are_choices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COLOURS, "blue", 2)
    assert read(tmp_path, '[table]\nsize = 1\ncolour = "blue"').colour == "blue"
    assert table_schema(settings_of(Example))["properties"]["colour"]["enum"] == [
        "none",
        "red",
        "blue",
    ]


def test_the_schema_has_types_limits_and_defaults() -> None:
    schema = table_schema(settings_of(Example))
    assert schema["required"] == ["size"]
    properties = schema["properties"]
    assert "note" not in properties
    assert properties["size"] == {
        "type": "integer",
        "description": "how large",
        "minimum": 1,
        "maximum": 9,
    }
    assert properties["share"]["exclusiveMinimum"] == 0
    assert properties["names"]["items"] == {"type": "string", "enum": ["red"]}
    assert properties["host"]["pattern"] == "^(?:[a-z]+)$"
    assert properties["span"]["minItems"] == 2
    assert properties["on"]["default"] is False
