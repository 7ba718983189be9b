"""Studies over split columns: conflicting settings and unusable data are refused."""

from pathlib import Path

import pytest

from fedclust import ConfigError, DataError, load
from fedclust.cli.tools.simulate import simulate
from fedclust.core import TooFewClients
from fedclust.study import read_study, survey_study
from fedclust.study.run import run_study

from .owners_example import frames, write


@pytest.mark.parametrize(
    ("data", "clustering", "more", "words"),
    [
        ("", 'n_clusters = "auto"', "", "must be a number"),
        ("", 'algorithm = "fkm"', "", "fkm is for split rows"),
        ("", 'algorithm = "llf-cm"\nfuzzy = true', "", "computes labels, not memberships"),
        ("", "fuzzifier = 2.0", "", "no parameter fuzzifier"),
        ("", "k_range = [2, 4]", "", "k_range is used only"),
        ("", 'init = "careful"', "", "init must be k-means"),
        ("batch_rows = 10", "", "", "needs all rows in memory"),
        ('missing = "median-of-means"', "", "", "each column has one client"),
        ("", "", "[sampling]\nfraction = 0.5", "set fraction = 1"),
        ("", "", "[sampling]\nmin_clients = 4", "there are 2 clients"),
        ("", "", '[privacy]\ntier = "dp"', "is not available with split"),
        ("", "", '[privacy]\ntier = "guarded"', "is not available with split"),
        ("", "", '[privacy]\ntier = "paper"', "is not available with split"),
        ("", "", '[privacy]\ntier = "secure"', "needs 3 clients or more"),
        ("", "", "[features]\nperson = {}", "cannot be a feature"),
    ],
)
def test_conflicts_are_reported_with_their_line(
    data: str, clustering: str, more: str, words: str, tmp_path: Path
) -> None:
    path = write(tmp_path, data=data, clustering=clustering, more=more)
    text = path.read_text()
    for key in ("algorithm", "n_clusters"):
        if clustering.startswith(key):
            line = 'algorithm = "lossless"\n' if key == "algorithm" else "n_clusters = 3\n"
            path.write_text(text.replace(line, ""))
    with pytest.raises(ConfigError, match=rf"s\.toml.*{words}"):
        read_study(path)


def test_secure_needs_the_owners_ranges_and_no_groups(tmp_path: Path) -> None:
    path = write(tmp_path, more='[privacy]\ntier = "secure"')
    three = path.read_text().replace("[clients]", '[clients]\nthird = "third.csv"')
    path.write_text(three)
    assert read_study(path).privacy.tier == "secure"  # without any bounds
    path.write_text(three + "group_size = 5\n[features]\nincome = { low = 0, high = 1 }\n")
    with pytest.raises(ConfigError, match="has no parameter group_size"):
        read_study(path)
    bounded = three + "[features]\nincome = { low = 0, high = 1 }\n"
    path.write_text(bounded.replace("[data]", '[data]\nscaling = "standard"'))
    with pytest.raises(ConfigError, match="scales every column to the range of its owner"):
        read_study(path)


def test_ids_are_needed_where_files_are_named(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(path.read_text().replace('id = "person"\n', ""))
    with pytest.raises(ConfigError, match="aligns records by their ids"):
        read_study(path)


def test_initializations_over_split_columns_are_refused_over_split_rows(tmp_path: Path) -> None:
    path = write(tmp_path, clustering='init = "records"')
    assert run_study(read_study(path), tmp_path / "run").model.about.converged
    path.write_text(path.read_text().replace('split = "columns"', ""))
    with pytest.raises(ConfigError, match="is for split columns"):
        read_study(path)


@pytest.mark.parametrize(
    ("change", "more", "words"),
    [
        ({"debt": "spent"}, "", "client '(shop|bank)' also has it"),
        ({}, "[features]\nincome = {}\nspent = {}\nage = {}\n", "no client has this column"),
        ({}, "[features]\nincome = {}\ndebt = {}\n", "none of the study's features"),
        ({"person": "name"}, "", "the id column does not exist .no column 'person'"),
        ({}, "[features]\nincome={}\nspent = { low = 0, high = 1 }\n", "outside the public bounds"),
    ],
)
def test_columns_that_do_not_fit_are_named(
    change: dict[str, str], more: str, words: str, tmp_path: Path
) -> None:
    tables = frames()
    tables["bank"] = {change.get(name, name): values for name, values in tables["bank"].items()}
    study = read_study(write(tmp_path, tables, more=more))
    with pytest.raises(DataError, match=words):
        run_study(study, tmp_path / "run")
    assert not survey_study(study).passes


def test_repeated_ids_and_too_few_shared_records_are_refused(tmp_path: Path) -> None:
    tables = frames()
    tables["bank"]["person"][1] = tables["bank"]["person"][0]
    with pytest.raises(DataError, match="'person': .* occurs in rows 0 and 1"):
        run_study(read_study(write(tmp_path, tables)), tmp_path / "run")
    tables = frames()
    tables["bank"]["person"] = [f"x{i}" for i in range(80)]
    with pytest.raises(DataError, match="only 0 records are shared by all owners"):
        run_study(read_study(write(tmp_path, tables)), tmp_path / "run")
    tables = {owner: {n: v[:2] for n, v in t.items()} for owner, t in frames(2).items()}
    with pytest.raises(DataError, match="too few for n_clusters = 3"):
        run_study(read_study(write(tmp_path, tables)), tmp_path / "run")


def test_a_column_that_is_empty_among_the_shared_records_is_refused(tmp_path: Path) -> None:
    tables = frames()
    shared = set(tables["bank"]["person"]) & set(tables["shop"]["person"])
    debt = ["NA" if person in shared else "1.5" for person in tables["bank"]["person"]]
    tables["bank"]["debt"] = debt
    path = write(tmp_path, tables, 'missing = "mean"')
    with pytest.raises(DataError, match="column 'debt' has no values"):
        run_study(read_study(path), tmp_path / "run")


def test_other_commands_refuse_split_columns(tmp_path: Path) -> None:
    path = write(tmp_path)
    study = read_study(path)
    with pytest.raises(ConfigError, match="cannot be simulated"):
        simulate(study, 5)
    run_study(study, tmp_path / "run")
    with pytest.raises(ConfigError, match="run exists already"):
        run_study(study, tmp_path / "run")
    with pytest.raises(ConfigError, match="no party has all centres"):
        load(tmp_path / "run")


def test_a_missing_key_stops_a_secure_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cryptography")
    from fedclust.privacy import SecureChannel

    tables = frames()
    for name in ("third", "fourth"):
        tables[name] = {"person": tables["bank"]["person"], name: tables["bank"]["income"] + 1}
    bounds = "".join(
        f"{n} = {{ low = -900, high = 900 }}\n" for t in tables.values() for n in t if n != "person"
    )
    path = write(tmp_path, tables, more=f'[privacy]\ntier = "secure"\n[features]\n{bounds}')
    clients = '[clients]\nthird = "third.csv"\nfourth = "fourth.csv"'
    path.write_text(path.read_text().replace("[clients]", clients))
    study = read_study(path)
    assert sum(run_study(study, tmp_path / "run").model.sizes) > 0
    monkeypatch.setattr(SecureChannel, "clients", lambda self: self._cohort[:3])
    with pytest.raises(TooFewClients, match="no key came from third"):
        run_study(study, tmp_path / "again")
