"""Seeded schedules of faults: nothing hangs, nothing is silently wrong, every study is finished.

FEDCLUST_NEMESIS says how many schedules are carried out, and FEDCLUST_NEMESIS_FROM the first seed.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from fedclust.privacy.accounting import mu_for
from fedclust.privacy.ledger import Ledger

from .disks import can_mount, can_turn_clocks
from .processes import CLIENTS
from .schedules import MOST, Schedule, Setting, What, Where, draw

N = int(os.environ.get("FEDCLUST_NEMESIS", "10"))
FIRST = int(os.environ.get("FEDCLUST_NEMESIS_FROM", "0"))
EPSILON, DELTA = 4.0, 1e-6  # of the study with noise


def test_schedules_are_those_of_their_seeds_and_cover_everything() -> None:
    drawn = [draw(seed) for seed in range(100)]
    assert drawn == [draw(seed) for seed in range(100)]
    faults = [fault for one in drawn for fault in one.faults]
    assert {len(one.faults) for one in drawn} == set(range(1, MOST + 1))
    assert min(Counter(one.setting for one in drawn).values()) >= 16
    assert {fault.what for fault in faults} == set(What)
    assert {fault.where for fault in faults} == set(Where)
    assert {one.setting for one in drawn} == set(Setting)


@pytest.mark.e2e
@pytest.mark.parametrize("seed", range(FIRST, FIRST + N))
def test_a_study_survives_its_schedule(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
    from .nemesis import nemesis

    schedule = draw(seed)
    if schedule.has(What.CLOCK) and not can_turn_clocks():
        pytest.skip("clocks can only be turned on Linux, with a C compiler")
    if schedule.has(What.DISK) and not can_mount(tmp_path):
        pytest.skip("only a user who may mount file systems can fill a disk")
    with nemesis(tmp_path, schedule) as world:
        report = world.run()
        sys.stdout.write(f"schedule {schedule}\nreport {report}\n")
        assert not report.problems, (schedule, report)
        assert report.finished
        check(world, schedule)


def check(world: object, schedule: Schedule) -> None:
    """The result is that of one process, or says that it is not."""
    from .nemesis import Nemesis, noises, tracebacks
    from .studies_of_nemesis import differences, expected

    assert isinstance(world, Nemesis)
    fed, out = world.fed, world.out
    assert not tracebacks(fed)
    if schedule.setting is Setting.NOISY_ROWS:
        spent = [Ledger(fed.kit(name) / "ledger.jsonl").spent for name in CLIENTS]
        assert spent == pytest.approx([mu_for(EPSILON, DELTA) ** 2] * len(CLIENTS)), "paid once"
        assert not [twice for name in CLIENTS for twice in noises(fed.kit(name))]
        return
    lines = [json.loads(line) for line in (out / "history.jsonl").read_text().splitlines()]
    fewer = any(line["n_clients"] < len(CLIENTS) for line in lines)
    assert not fewer or schedule.setting is Setting.QUORUM_ROWS
    if fewer or (schedule.setting is Setting.QUORUM_ROWS and (out / "incidents.jsonl").exists()):
        return  # another cohort, in some round of the study; the run says so
    here = expected(fed, world.study, schedule.setting)
    assert not differences(fed, out, here)
