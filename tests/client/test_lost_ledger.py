"""Label requests count, and a ledger that was removed or replaced is noticed."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust.algorithms import make
from fedclust.cli import app
from fedclust.client.disclosures import last_count
from fedclust.client.endpoint import ClientEndpoint
from fedclust.core import Code, Plan
from fedclust.core.wire import pack, unpack

from ..support.hostile_server import START, request
from ..support.in_process import PLAIN, write_kits


def asked(kit: Path, seed: int) -> dict[str, Any]:
    """A query of its own, answered by a new process."""
    plan = Plan(make("llf-cm", 3, init=START), seed=seed)
    return unpack(ClientEndpoint(kit, "west", "s").answer(request(plan))).header


def label_request(shift: float) -> bytes:
    words = {"kind": "label", "id": "/1", "about": {"study": "s"}, "algorithm": "llf-cm", **PLAIN}
    return pack({**words, "ids": [0, 1, 2]}, {"centers": START + shift})


def test_label_requests_are_queries(tmp_path: Path) -> None:
    site = write_kits(tmp_path, "max_queries = 3")["west"]
    kinds = [unpack(site.answer(label_request(0.1 * n))).header for n in range(6)]
    assert [k["kind"] for k in kinds] == ["reply"] * 3 + ["refusal"] * 3
    assert kinds[-1]["code"] == Code.LIMIT
    again = unpack(site.answer(label_request(0.0))).header
    assert again["kind"] == "reply"  # the same request counts once


@pytest.mark.parametrize("lost", ["removed", "emptied", "an earlier copy"])
def test_a_lost_ledger_is_noticed_until_its_owner_resets_it(tmp_path: Path, lost: str) -> None:
    write_kits(tmp_path, "max_queries = 20")
    kit = tmp_path / "west"
    ledger = kit / "ledger.jsonl"
    assert asked(kit, 0)["kind"] == "reply"
    shutil.copy(ledger, tmp_path / "copy")
    for seed in range(1, 4):
        assert asked(kit, seed)["kind"] == "reply"
    assert asked(kit, 0)["kind"] == "reply"  # the same query again counts nothing
    if lost == "removed":
        ledger.unlink()
    elif lost == "emptied":
        ledger.write_text("")
    else:
        shutil.copy(tmp_path / "copy", ledger)
    for seed in (7, 8):
        said = asked(kit, seed)
        assert (said["kind"], said["code"]) == ("refusal", Code.POLICY)
        assert "fewer queries than it has answered" in said["why"]
        assert str(tmp_path) not in json.dumps(said)
    done = CliRunner().invoke(app, ["disclosures", str(kit), "--reset-ledger", "disk failed"])
    assert done.exit_code == 0
    assert asked(kit, 7)["kind"] == "reply"
    assert json.loads(ledger.read_text().splitlines()[-2])["why"] == "disk failed"


def test_a_client_that_has_answered_nothing_has_lost_nothing(tmp_path: Path) -> None:
    write_kits(tmp_path)
    kit = tmp_path / "west"
    assert last_count(kit / "disclosures.jsonl") is None
    assert asked(kit, 0)["kind"] == "reply"
    found = last_count(kit / "disclosures.jsonl")
    assert found is not None
    assert found.queries == 1


def test_words_of_a_server_are_no_count(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    odd = {"when": "2026-01-01T00:00:00", "study": '"queries": 99'}
    log.write_text(json.dumps({"when": "2026-01-01T00:00:00", "queries": 2}) + "\n")
    with open(log, "a") as file:
        file.write(json.dumps(odd) + '\n{"when": "2026-01-01T00:00:01", "queries": ')
    assert last_count(log) == (2, "2026-01-01T00:00:00")


def test_no_name_steers_a_terminal(tmp_path: Path) -> None:
    write_kits(tmp_path)
    kit = tmp_path / "west"
    plan = Plan(make("llf-cm", 3, init=np.asarray(START)))
    site = ClientEndpoint(kit, "west")
    site.answer(request(plan, study="\x1b]0;owned\x07\x1b[2J"), author="a\x1b[31m")
    for arguments in (["disclosures", str(kit)], ["disclosures", str(kit), "--all"]):
        shown = CliRunner().invoke(app, arguments).output
        assert "\x1b" not in shown
        assert "\x07" not in shown
