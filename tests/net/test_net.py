"""Every case gives the recorded result, and a result that differs is reported."""

from pathlib import Path

import pytest

from .cases import HARD, MASKED, SOFT, Case, all_cases
from .results import Result, differences, perturbed, read_recorded
from .running import registered_algorithms, run_case

RECORDED = read_recorded()
# The comparison with the lossless run, which only one process makes, is sent without integers.
FAILS_IN_ONE_PROCESS = [f"wire/rows/{key}/secure" for key in ("dwf", "ewf", "gdf-fcm")]


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_the_result_is_the_recorded_one(case: Case, tmp_path: Path) -> None:
    if case.tier in MASKED:
        pytest.importorskip("cryptography")
    found = differences(case.name, RECORDED[case.name], run_case(case, tmp_path))
    assert not found, "\n".join(found)


def test_every_case_is_recorded_once_and_every_algorithm_has_cases() -> None:
    names = [case.name for case in all_cases()]
    assert names == list(RECORDED)
    assert sorted(registered_algorithms()) == sorted((*HARD, *SOFT))


@pytest.mark.parametrize("name", ["wire/rows/llf-cm/secure", "estimator/rows/ffcf/secure"])
def test_a_changed_value_is_reported_by_case_and_field(name: str) -> None:
    now = RECORDED[name]
    result = Result(**now)
    assert differences(name, now, result) == []
    for field, changed in perturbed(now):
        (line,) = differences(name, changed, result)
        assert line.startswith(f"{name}: {field}: recorded")


def test_a_new_refusal_and_a_missing_field_are_reported() -> None:
    name = "study/rows/llf-cm/none"
    (line,) = differences(name, RECORDED[name], Result(ended="refused", words="no bounds"))
    assert line == f"{name}: ended: recorded a result, now refused: no bounds"
    lines = differences(name, RECORDED[name], Result())
    assert len(lines) == len(RECORDED[name])


def test_recorded_runs_over_the_wire_are_those_of_one_process() -> None:
    pairs = {
        name: (RECORDED[name.replace("wire", "study", 1)], there)
        for name, there in RECORDED.items()
        if name.startswith("wire")
    }
    shared = ("centers", "bits", "labels", "inertia", "rounds", "sizes", "ended")
    different = {
        name: field
        for name, (here, there) in pairs.items()
        for field in shared
        if here.get(field) != there.get(field) and name not in FAILS_IN_ONE_PROCESS
    }
    assert not different
