"""What is wrong with a line that is not TOML."""

import tomllib
from pathlib import Path

import pytest

from fedclust.settings.syntax import explain_syntax


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('names = ["a", "b"', "a bracket [ is not closed"),
        ("a = [", "a bracket [ is not closed"),
        ("age = { low = 0\n", "a bracket { is not closed"),
        ('age = { unit = "}", low = 0', "a bracket { is not closed"),
        ("[features", "the bracket ] is missing after the name of the table"),
        ("n_clusters =", "n_clusters has no value"),
        ('n = "[" "x"', "not valid TOML (expected newline or end of document after a statement)"),
    ],
)
def test_a_syntax_error_is_one_sentence(text: str, says: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError) as caught:
        tomllib.loads(text)
    assert explain_syntax(Path("s.toml"), text, str(caught.value)) == f"s.toml:1: {says}"
