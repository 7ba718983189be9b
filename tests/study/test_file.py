"""Study files: mistakes are reported with their line."""

from pathlib import Path

import pytest

from fedclust import ConfigError
from fedclust.study import json_schema, read_study

from .example import SMALLEST, write


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("n_clusters = 2", "n_cluster = 2"), r"study.toml:8: .* no key 'n_cluster'; did you mean"),
        (("n_clusters = 2", "n_clusters = 0"), "study.toml:8: n_clusters must be at least 1, got"),
        (("n_clusters = 2", 'n_clusters = "two"'), "must be an integer or .auto., got"),
        (("n_clusters = 2", ""), r"study.toml:6: \[clustering\] needs n_clusters"),
        (('"lossless"', '"loseless"'), "algorithm must be one of .*; did you mean 'lossless'"),
        (("[clustering]", "[clusterin]"), "study.toml:6: there is no table .clusterin.; did you"),
        (("[clients]", "[clients"), r"study.toml:2: the bracket \] is missing"),
        (('"south.csv"', "3"), "study.toml:4: client 'south' must have a file, got 3"),
        (("[clustering]", "seed = 1\n[clustering]"), "client 'seed' must have a file, got 1"),
        (("[clustering]", "[features]\nage = 3\n[clustering]"), "feature 'age' must be a table"),
        (("[clustering]", "[features.age]\nlow = 3\n[clustering]"), "give both low and high"),
        (("[clustering]", "[features.sex]\ncategories = 'f'\n[clustering]"), "a list of strings"),
        (("[clustering]", "[sampling]\nfraction = 2\n[clustering]"), "must be at most 1"),
        (("[clustering]", "[features.age]\nlog = 1\n[clustering]"), "log must be true or false"),
        (('north = "north.csv"\nsouth = "south.csv"\n', ""), ".clients. is missing or empty"),
        (("north =", '"../x" ='), "its name is also a file name"),
        (("[clustering]", "[sampling]\nfraction = 0\n[clustering]"), "must be above 0, got 0"),
        (("[clustering]", "[sampling]\nmin_clients = 3\n[clustering]"), "there are 2 clients"),
        (("[clustering]", "[features]\n[clustering]"), "is empty; list columns, or leave it out"),
        (("n_clusters = 2", "n_clusters = 2\nfuzzifier = 1.0"), "fuzzifier must be above 1"),
        (("n_clusters = 2", "n_clusters = 2\nfuzzifier = 1.5"), "no parameter fuzzifier"),
        (("n_clusters = 2", "n_clusters = 2\nk_range = [3, 4]"), "used only with n_clusters"),
        (("n_clusters = 2", 'n_clusters = 2\ninit = "uniform"'), "draws within public bounds"),
        (("lossless", 'llf-fcm"\nfuzzy = false\n#'), "but llf-fcm computes memberships"),
        (("n_clusters = 2", "n_clusters = 2\nk_range = [3, 2]"), "k_range must be two integers"),
        (("n_clusters = 2", "n_clusters = 2\nk_range = [1, 4]"), "k_range must be at least 2"),
        (("\n[clients]", "data = 3\n[clients]"), "data must be a table"),
    ],
)  # fmt: skip
def test_mistakes_are_reported_with_their_line(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        read_study(write(tmp_path, SMALLEST.replace(*change)))
    assert "study.toml" in str(caught.value)


def test_a_missing_study_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        read_study(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "epsilonn = 1.0",
            r"study.toml:\d+: \[privacy\] has no key 'epsilonn'; did you mean 'epsilon'",
        ),
        (
            'tier = "guarded"\ngroup_size = 1',
            r"study.toml:\d+: group_size must be at least 3, got 1",
        ),
        ('tier = "guarded"\nepsilon = 1', "tier = 'guarded' has no parameter epsilon"),
        ('tier = "guarded"\nmin_cohort = 3', "has no key 'min_cohort'"),
    ],
)
def test_parameters_of_tiers_are_keys_of_privacy(tmp_path: Path, lines: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_study(write(tmp_path, f"{SMALLEST}\n[privacy]\n{lines}\n"))


def test_the_schema_knows_every_key() -> None:
    schema = json_schema()
    assert schema["required"] == ["clients", "clustering"]
    clustering = schema["properties"]["clustering"]
    assert clustering["required"] == ["algorithm", "n_clusters"]
    count = clustering["properties"]["n_clusters"]
    assert count["anyOf"] == [{"type": "integer"}, {"const": "auto"}]
    assert count["minimum"] == 1
    file, table = schema["properties"]["clients"]["additionalProperties"]["anyOf"]
    assert file == {"type": "string"}
    assert table["required"] == ["file"]
    assert table["properties"]["decimal"]["enum"] == [".", ","]
    assert schema["properties"]["privacy"]["properties"]["group_size"]["minimum"] == 3
    assert schema["properties"]["features"]["additionalProperties"]["properties"]["categories"][
        "items"
    ]
