"""Mistakes of a newcomer: one sentence says what is wrong, where, and what to do.

Each case changes one line of a study of penguins on three islands, or the command.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from fedclust.cli import app
from fedclust.study import read_study, survey_study

invoke = CliRunner().invoke
CLIENTS = ("Biscoe", "Dream", "Torgersen")
FEATURES = "[features]\nbody_mass_g = {{ {} }}\n"


class Case(NamedTuple):
    """A change of the study, the command, and what it says."""

    says: str
    old: str = ""
    new: str = ""
    more: str = ""
    command: tuple[str, ...] = ("run", "study.toml")
    damage: Callable[[Path], object] = lambda folder: None
    code: int = 1


def word_among_numbers(folder: Path) -> None:
    lines = (folder / "dream.csv").read_text().splitlines()
    cells = lines[40].split(",")
    lines[40] = ",".join([*cells[:-1], "12h"])
    (folder / "dream.csv").write_text("\n".join(lines) + "\n")


CASES = {
    "wrong study path": Case(
        "nothere.toml: there is no such file", command=("run", "nothere.toml")
    ),
    "a folder as study": Case(
        ". is a folder; give a file in it, such as study.toml", command=("run", ".")
    ),
    "wrong data path": Case(
        "dreem.csv in the folder {folder}; did you mean 'dream.csv'?", "dream.csv", "dreem.csv"
    ),
    "wrong column": Case(
        "fedclust: clients 'Biscoe', 'Dream', 'Torgersen': column 'body_mas_g': the column does "
        "not exist (did you mean 'body_mass_g'?)\n",
        "body_mass_g = {}",
        "body_mas_g = {}",
    ),
    "wrong key": Case(
        "study.toml:8: [clustering] has no key 'n_cluster'; did you mean 'n_clusters'?",
        "n_clusters = 3",
        "n_cluster = 3",
    ),
    "wrong type": Case(
        "study.toml:8: n_clusters must be an integer or \"auto\", got 'three'", "= 3", '= "three"'
    ),
    "k": Case(
        "study.toml:8: [clustering] has no key 'k'; use n_clusters", "n_clusters = 3", "k = 4"
    ),
    "max_iter": Case(
        "study.toml:9: [clustering] has no key 'max_iter'; use max_rounds",
        "n_clusters = 3",
        "n_clusters = 3\nmax_iter = 9",
    ),
    "min for low": Case(
        "study.toml:18: [features.body_mass_g] has no key 'min'; use low",
        "body_mass_g = {}",
        "body_mass_g = { min = 0, max = 9000 }",
    ),
    "wrong table": Case(
        "study.toml:6: there is no table [cluster]; did you mean 'clustering'?",
        "[clustering]",
        "[cluster]",
    ),
    "kmeans": Case(
        "study.toml:7: algorithm = 'kmeans' is not known; k-means is algorithm = \"lossless\"",
        '"lossless"',
        '"kmeans"',
    ),
    "Fuzzy C-Means": Case(
        'fuzzy c-means is algorithm = "lossless" with fuzzy = true', '"lossless"', '"Fuzzy C-Means"'
    ),
    "text without quotes": Case(
        'study.toml:7: put text in quotes, as in algorithm = "text"', '"lossless"', "lossless"
    ),
    "path of Windows": Case(
        "study.toml:3: write paths with / instead of \\, or in single quotes",
        '"dream.csv"',
        '"data\\dream.csv"',
    ),
    "typographic quotes": Case(
        'study.toml:7: use straight quotes ("), not typographic ones', '"lossless"', "“lossless”"
    ),
    "missing quote": Case("study.toml:7: a quote is missing", '"lossless"', '"lossless'),
    "key given twice": Case(
        "the key or table is given twice; keep one",
        "n_clusters = 3",
        "n_clusters = 3\nn_clusters = 4",
    ),
    "True": Case(
        "study.toml:9: write fuzzy = true or fuzzy = false", "= 3\n", "= 3\nfuzzy = True\n"
    ),
    "more clusters than rows": Case(
        "fewer rows than clusters; lower n_clusters (342 rows, n_clusters = 500)",
        "n_clusters = 3",
        "n_clusters = 500",
    ),
    "secure without bounds": Case(
        "tier = 'secure' needs public bounds; give every feature low and high under [features]",
        more='[privacy]\ntier = "secure"\n',
    ),
    "more names than clusters": Case(
        "study.toml:20: names has 4 names, but there are at most 3 clusters; leave some out",
        more='[clusters]\nnames = ["a", "b", "c", "d"]\n',
    ),
    "unknown tier": Case(
        "tier must be one of none, paper, guarded", more='[privacy]\ntier = "high"\n'
    ),
    "auto k with dp and rounds": Case(
        "n_clusters = \"auto\" with tier = 'dp' has one round; leave out max_rounds",
        "n_clusters = 3",
        'n_clusters = "auto"\nmax_rounds = 4',
        '[privacy]\ntier = "dp"\n',
    ),
    "a summary's start with dp": Case(
        "init = \"summary\" takes exact sums, and tier = 'dp' adds noise; leave it out",
        "n_clusters = 3",
        'n_clusters = 3\ninit = "summary"',
        '[privacy]\ntier = "dp"\n',
    ),
    "one file for two clients": Case(
        "client 'Torgersen': another client has the same file (dream.csv is also a file of client "
        "'Dream')",
        "torgersen.csv",
        "dream.csv",
    ),
    "wrong id": Case(
        "clients 'Biscoe', 'Dream', 'Torgersen': column 'brid': the id column does not exist (did "
        "you mean 'bird'?)\n",
        'id = "bird"',
        'id = "brid"',
    ),
    "word among numbers": Case(
        "client 'Dream': column 'body_mass_g': has some values that are not numbers; correct them, "
        "or list them under na_values (123 of 124 values are numbers; the other is '12h'; first in "
        "dream.csv:41)",
        damage=word_among_numbers,
    ),
    "values out of bounds": Case(
        "public bounds; correct them, or widen low and high (153; first in biscoe.csv:3)",
        "body_mass_g = {}",
        "body_mass_g = { low = 2000, high = 3500 }",
    ),
    "low above high": Case(
        "study.toml:18: column 'body_mass_g': low must be below high",
        "body_mass_g = {}",
        "body_mass_g = { low = 9, high = 3 }",
    ),
    "unknown command": Case(
        "there is no command 'rnu'; did you mean 'run'?", command=("rnu", "study.toml"), code=2
    ),
    "option that is a key": Case(
        "run has no option --clusters; set n_clusters under [clustering] in the study file",
        command=("run", "study.toml", "--clusters", "4"),
        code=2,
    ),
    "privacy as option": Case(
        "check has no option --privacy; set tier under [privacy] in the study file",
        command=("check", "study.toml", "--privacy", "secure"),
        code=2,
    ),
    "misspelt option": Case(
        "run has no option --resum; did you mean '--resume'?",
        command=("run", "study.toml", "--resum"),
        code=2,
    ),
    "setting as option of init": Case(
        "init has no option --delimiter; use --set delimiter=VALUE",
        command=("init", "dream.csv", "--delimiter", ";"),
        code=2,
    ),
    "export to pickle": Case(
        "models are exported to .onnx or .skops files",
        command=("export", "run", "model.pkl"),
        damage=lambda folder: invoke(app, ["run", "study.toml", "--out", "run"]),
    ),
    "label without columns": Case(
        "there is no column 'flipper_length_mm' and no 'body_mass_g'",
        command=("label", "run", "few.csv"),
        damage=lambda folder: (
            invoke(app, ["run", "study.toml", "--out", "run"]),
            (folder / "few.csv").write_text("bird\nx\n"),
        ),
    ),
    "decimal is thousands": Case(
        "study.toml:10: decimal and thousands are both ','; change one",
        'id = "bird"',
        'id = "bird"\ndecimal = ","\nthousands = ","',
    ),
    "wrong decimal mark": Case(
        "clients 'Biscoe', 'Dream', 'Torgersen': column 'bill_depth_mm': has numbers that are not "
        "written as decimal or thousands under [data] say\n",
        "flipper_length_mm = {}",
        "bill_depth_mm = {}",
        damage=lambda folder: (folder / "study.toml").write_text(
            (folder / "study.toml").read_text().replace("[data]", '[data]\ndecimal = ","')
        ),
    ),
    "unknown encoding": Case(
        "encoding must be one of utf-8, utf-16, cp1252, latin-1, cp1250, shift_jis, gb18030, got",
        'id = "bird"',
        'id = "bird"\nencoding = "utf9"',
    ),
    "sep": Case("has no key 'sep'; use delimiter", 'id = "bird"', 'id = "bird"\nsep = ";"'),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert invoke(app, ["example", "penguins", "birds"]).exit_code == 0
    for file in (tmp_path / "birds").glob("*.csv"):
        file.rename(tmp_path / file.name)
    clients = "".join(f'{name} = "{name.lower()}.csv"\n' for name in CLIENTS)
    (tmp_path / "study.toml").write_text(
        f'[clients]\n{clients}\n[clustering]\nalgorithm = "lossless"\nn_clusters = 3\n\n'
        '[data]\nid = "bird"\n\n[outputs]\nreport = false\n\n'
        "[features]\nflipper_length_mm = {}\nbody_mass_g = {}\n"
    )
    return tmp_path


@pytest.mark.parametrize("name", CASES)
def test_one_sentence_says_what_where_and_what_to_do(folder: Path, name: str) -> None:
    case = CASES[name]
    case.damage(folder)
    path = folder / "study.toml"
    text = path.read_text()
    assert case.old in text
    path.write_text(text.replace(case.old, case.new) + case.more)
    shown = invoke(app, list(case.command), env={"COLUMNS": "200"})
    assert shown.exit_code == case.code, shown.output
    assert case.says.replace("{folder}", str(folder)) in shown.output
    said = [line for line in shown.output.splitlines() if line.startswith("fedclust: ")]
    assert len(said) == 1
    assert "Traceback" not in shown.output
    assert ".tmp" not in shown.output


@pytest.mark.parametrize("command", [("check", "study.toml"), ("init", "dream.csv", "--out", "s")])
def test_a_file_without_permission_is_named(
    folder: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a user who is not root, who could read it."""
    (folder / "dream.csv").chmod(0)
    may = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path).name != "dream.csv" and may(path, mode)
    )
    shown = invoke(app, list(command), env={"COLUMNS": "300"})
    assert shown.exit_code == 1
    assert "dream.csv: you have no permission to read it; change its permissions" in shown.output
    assert "Traceback" not in shown.output


def test_equal_problems_of_many_clients_are_one(tmp_path: Path) -> None:
    lines = ["[clients]"]
    for number in range(60):
        (tmp_path / f"c{number:02d}.csv").write_text("bird,mass\n" + "a,1\nb,2\n" * 10)
        lines.append(f'c{number:02d} = "c{number:02d}.csv"')
    lines += ["[clustering]", 'algorithm = "lossless"', "n_clusters = 2"]
    path = tmp_path / "study.toml"
    path.write_text("\n".join([*lines, "[data]", 'id = "brd"', "[features]", "mas = {}"]))
    shown = invoke(app, ["run", str(path)])
    assert shown.output.strip() == (
        "fedclust: clients 'c00', 'c01' and 58 others: column 'brd': the id column does not exist "
        "(did you mean 'bird'?); clients 'c00', 'c01' and 58 others: column 'mas': the column does "
        "not exist (did you mean 'mass'?)"
    )
    table = invoke(app, ["check", str(path)], env={"COLUMNS": "200"}).output
    assert table.count("the column does not exist") == 1
    assert "c00, c01 and 58 others" in table


@pytest.mark.parametrize("command", ["init", "label csv", "label parquet"])
def test_what_cannot_be_written_is_named_without_scratch_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert invoke(app, ["run", "study.toml", "--out", "run"]).exit_code == 0
    target = {"init": "new.toml", "label csv": "new.csv", "label parquet": "new.parquet"}[command]
    arguments = {"init": ["init", "dream.csv", "--out", target]}.get(
        command, ["label", "run", "dream.csv", "--out", target]
    )
    # A folder in place of the scratch file cannot be opened by any user.
    scratch = folder / f".{target}.{os.getpid()}.tmp"
    scratch.mkdir()
    monkeypatch.setattr(Path, "unlink", lambda path, missing_ok=False: None)
    shown = invoke(app, arguments)
    assert shown.exit_code == 1
    assert f"fedclust: {target} cannot be written (Is a directory)" in shown.output
    assert ".tmp" not in shown.output


def test_a_file_may_be_typed_where_a_name_is_asked(folder: Path) -> None:
    typed = "dream.csv\nnorth\nbiscoe.csv\n\n3\n"
    shown = invoke(app, ["init", "--out", "typed.toml"], input=typed)
    assert shown.exit_code == 0, shown.output
    assert "dream.csv is the file of client 'dream'." in shown.output
    text = (folder / "typed.toml").read_text()
    assert 'dream = "dream.csv"\nnorth = "biscoe.csv"\n' in text


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("decimal", "--set decimal: expected KEY=VALUE, such as --set decimal=,"),
        ("sep=;", "there is no setting 'sep'; use delimiter"),
        ("delimeter=;", "there is no setting 'delimeter'; did you mean 'delimiter'?"),
        ("decimal=x", "--set decimal=x: decimal must be one of ., ,"),
        ("header_line=0", "header_line must be at least 1"),
    ],
)
def test_settings_of_init_are_checked(folder: Path, given: str, says: str) -> None:
    shown = invoke(app, ["init", "dream.csv", "--out", "x.toml", "--set", given])
    assert shown.exit_code == 1
    assert says in " ".join(shown.output.split())


def test_settings_of_init_are_written_into_the_study(folder: Path) -> None:
    (folder / "odd.csv").write_text("A report\nx|y\n1,234|a\n2,345|b\n" + "3,456|b\n" * 9)
    command = ["init", "odd.csv", "--out", "x.toml", "--n-clusters", "2"]
    for setting in ("header_line=2", "delimiter=|", "decimal=,", 'na_values=["-", "x"]'):
        command += ["--set", setting]
    shown = invoke(app, command)
    assert shown.exit_code == 0, shown.output
    study = read_study(folder / "x.toml")
    assert (study.data.header_line, study.data.delimiter, study.data.decimal) == (2, "|", ",")
    assert study.data.na_values == ("-", "x")
    assert survey_study(study).passes


EXTRAS = {  # a line of the study, the package that is missing, the extra that brings it
    "labels": ("", "pyarrow", "study"),
    "report": ('[outputs]\nlabels = "csv"\n', "jinja2", "report"),
    "both": ("", "pyarrow jinja2", "study"),
    "secure": (
        '[outputs]\nlabels = "csv"\nreport = false\n[privacy]\ntier = "secure"\n',
        "cryptography",
        "secure",
    ),
    "dp": (
        '[outputs]\nlabels = "csv"\nreport = false\n[privacy]\ntier = "dp"\nepsilon = 1.0\n',
        "opendp",
        "dp",
    ),
    "batches": (
        '[outputs]\nlabels = "csv"\nreport = false\n[data]\nbatch_rows = 9\n',
        "pyarrow",
        "study",
    ),
}


@pytest.mark.parametrize("name", EXTRAS)
def test_check_knows_which_extras_a_run_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    more, packages, extra = EXTRAS[name]
    clients = "".join(f'c{i} = "c{i}.csv"\n' for i in range(3))
    for i in range(3):
        (tmp_path / f"c{i}.csv").write_text("x\n" + "1\n2\n" * 30)
    path = tmp_path / "study.toml"
    path.write_text(
        f'[clients]\n{clients}[clustering]\nalgorithm = "lossless"\nn_clusters = 2\n{more}'
        "[features]\nx = { low = 0, high = 3 }\n"
    )
    for package in packages.split():
        monkeypatch.setitem(sys.modules, package, None)
    command = f"pip install 'fedclust[{extra}]'"
    checked = invoke(app, ["check", str(path)], env={"COLUMNS": "200"})
    assert checked.exit_code == 1, checked.output
    assert command in checked.output
    assert "The study cannot run yet" in checked.output
    run = invoke(app, ["run", str(path)])
    assert run.exit_code == 1
    assert run.output.strip() == f"fedclust: the run needs more packages: {command}"


def test_an_excel_file_needs_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    path = tmp_path / "study.toml"
    clustering = '[clustering]\nalgorithm = "lossless"\nn_clusters = 2\n'
    path.write_text(f'[clients]\na = "a.xlsx"\n{clustering}')
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    checked = invoke(app, ["check", str(path)], env={"COLUMNS": "200"})
    assert "pip install 'fedclust[excel]'" in checked.output
