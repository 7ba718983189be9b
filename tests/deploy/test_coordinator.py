"""The run from submission to results, with a server that is only pretended."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fedclust import __version__
from fedclust.channels import RemoteChannel
from fedclust.cli import app
from fedclust.client.endpoint import ClientEndpoint
from fedclust.core import ConfigError, FedclustError, TooFewClients
from fedclust.deploy.conditions import Conditions, Watch
from fedclust.deploy.coordinator import run_federated
from fedclust.deploy.job import StudyJob
from fedclust.deploy.quorum import Quorum
from fedclust.study.read import resolve_tier

from ..support.in_process import NAMES, InProcess, results_of, run_across, write_kits
from ..support.pretended import QUICK, STUDY, Pretended, run, study

pytest.importorskip("nvflare", reason="the pretended parts replace those of NVFlare")


def expected(tmp_path: Path) -> Any:
    sites = write_kits(tmp_path / "other")
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    run_across(study(tmp_path), remote, tmp_path / "expected")
    return results_of(tmp_path / "expected")


def test_a_study_is_submitted_watched_and_left_in_its_folder(
    server: Pretended, tmp_path: Path
) -> None:
    said = run(tmp_path)
    assert results_of(tmp_path / "run") == expected(tmp_path)
    words = [line["message"] for line in said if "message" in line]
    assert "connected: north, south, west (2 needed)" in words
    assert any("plan" in line and line["answers"] == 3 for line in said)
    assert not (tmp_path / ".run.federation").exists()
    assert server.aborted == 0


def test_a_job_that_dies_is_submitted_again(server: Pretended, tmp_path: Path) -> None:
    server.die_in_job = 2
    said = run(tmp_path)
    assert len(server.jobs) == 3
    assert len({job["run"] for job in server.jobs}) == 1
    assert sum("submitting the job again" in line.get("message", "") for line in said) == 2
    assert results_of(tmp_path / "run") == expected(tmp_path)


def test_after_so_many_attempts_it_gives_up_and_can_be_resumed(
    server: Pretended, tmp_path: Path
) -> None:
    calls = []

    def lost(n: int, client: str, raw: bytes) -> bytes | str:
        calls.append(client)
        return "gone" if n >= 5 else raw

    server.transport.spoil = lost
    with pytest.raises(FedclustError, match="0 clients can take part.*gone"):
        run(tmp_path)
    assert len(server.jobs) == 3
    with pytest.raises(ConfigError, match="with --resume, or start again with --force"):
        run(tmp_path)
    server.transport.spoil = lambda n, client, raw: raw
    said = run(tmp_path, resume=True)
    assert any(
        "the run continues from its last saved round" in line.get("message", "") for line in said
    )
    assert results_of(tmp_path / "run") == expected(tmp_path)
    assert (tmp_path / "run" / "incidents.jsonl").read_text().count("gone") >= 3


def test_a_run_that_clients_follow_says_that_it_continues(
    server: Pretended, tmp_path: Path
) -> None:
    masked = STUDY.replace('tier = "none"', 'tier = "secure"')
    masked += "[features]\nheight = { low = -90, high = 90 }\nwidth = { low = -90, high = 90 }\n"
    server.transport.spoil = lambda n, client, raw: "gone" if n >= 9 else raw
    with pytest.raises(FedclustError):
        run(tmp_path, masked)
    server.transport.spoil = lambda n, client, raw: raw
    words = [line.get("message", "") for line in run(tmp_path, masked, resume=True)]
    assert any("the run continues; rounds that clients have answered" in text for text in words)


@pytest.mark.parametrize("tier", ["none", "secure"])
def test_another_version_is_refused_before_the_first_round_in_every_tier(
    server: Pretended, tmp_path: Path, tier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = STUDY.replace('tier = "none"', f'tier = "{tier}"')
    text += "[features]\nheight = { low = -90, high = 90 }\nwidth = { low = -90, high = 90 }\n"
    monkeypatch.setattr("fedclust.follow.endpoint.__version__", "9.9")
    with pytest.raises(FedclustError, match=f"the server runs fedclust {__version__}, this client"):
        run(tmp_path, text)
    assert len(server.jobs) == 1
    logs = (tmp_path / "sites").glob("*/disclosures.jsonl")
    kinds = {json.loads(line)["kind"] for log in logs for line in log.read_text().splitlines()}
    assert kinds <= {"follow", "preflight"}


def test_the_report_names_a_client_that_was_left_out_of_the_whole_study(
    server: Pretended, tmp_path: Path
) -> None:
    late = "still at work after 5 seconds, the deadline"
    server.transport.spoil = lambda n, client, raw: late if client == "west" and n < 9 else raw
    run(tmp_path, STUDY.replace("report = false", "report = true"))
    why = f"west did not take part, and its rows are not in the result ({late})"
    about = json.loads((tmp_path / "run" / "model.json").read_text())
    assert why in json.dumps(about)
    assert f"Warning: {why}." in (tmp_path / "run" / "report.html").read_text()


def test_the_coordinator_reads_how_the_tier_changed_scale_and_start(
    server: Pretended, tmp_path: Path
) -> None:
    """Across machines the tier is secure unless the study names another."""
    open_tier = [line.get("message", "") for line in run(tmp_path)]
    assert not any("may differ from those of tier" in text for text in open_tier)
    bounds = "[features]\nheight = { low = -90, high = 90 }\nwidth = { low = -90, high = 90 }\n"
    masked = run(tmp_path, STUDY.replace('tier = "none"', 'tier = "secure"') + bounds, force=True)
    assert masked[-1]["message"].startswith(
        "With tier 'secure', columns are scaled by their bounds"
    )


def test_a_server_that_runs_is_used(server: Pretended, tmp_path: Path) -> None:
    server.port_is_free = False
    assert run(tmp_path)[0] == {"message": "using the server that is running on port 1"}
    assert server.aborted_names == ["s"]


def test_force_starts_anew(server: Pretended, tmp_path: Path) -> None:
    server.transport.spoil = lambda n, client, raw: "gone" if n >= 5 else raw
    with pytest.raises(FedclustError):
        run(tmp_path)
    server.transport.spoil = lambda n, client, raw: raw
    said = run(tmp_path, force=True)
    assert any("the run starts" in line.get("message", "") for line in said)
    run(tmp_path, force=True)
    with pytest.raises(ConfigError, match="exists already"):
        run(tmp_path)


def test_a_run_that_went_on_unwatched_is_only_tidied_up(server: Pretended, tmp_path: Path) -> None:
    def gone(line: dict[str, Any]) -> None:
        if "plan" in line:
            raise SystemExit

    place = (study(tmp_path), tmp_path / "kits", tmp_path / "run", QUICK, gone)
    with pytest.raises(SystemExit):
        run_federated(*place, resume=False, force=False)
    run(tmp_path, resume=True)
    assert len(server.jobs) == 1
    assert results_of(tmp_path / "run") == expected(tmp_path)
    assert not (tmp_path / ".run.federation").exists()


def test_without_a_run_there_is_nothing_to_resume(server: Pretended, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no unfinished run; leave out --resume"):
        run(tmp_path, resume=True)


def test_a_mistake_is_not_tried_again(server: Pretended, tmp_path: Path) -> None:
    with pytest.raises(FedclustError, match="the column does not exist"):
        run(tmp_path, STUDY + "[features]\nage = {}\n")
    assert len(server.jobs) == 1


def test_too_few_rows_or_no_common_column_are_said(server: Pretended, tmp_path: Path) -> None:
    with pytest.raises(FedclustError, match="fewer rows than clusters; lower n_clusters .180 rows"):
        run(tmp_path, STUDY.replace("n_clusters = 3", "n_clusters = 200"))
    text = (tmp_path / "sites" / "west" / "people.csv").read_text()
    (tmp_path / "sites" / "west" / "people.csv").write_text(text.replace("height,width", "a,b"))
    server.transport.sites["west"] = ClientEndpoint(tmp_path / "sites" / "west", "west", "s")
    with pytest.raises(FedclustError, match="no numeric column is shared"):
        run(tmp_path, force=True)


def test_nobody_willing_is_said_with_the_reasons(server: Pretended, tmp_path: Path) -> None:
    for name in NAMES:
        with open(tmp_path / "sites" / name / "client.toml", "a") as file:
            file.write('studies = ["another"]\n')
    with pytest.raises(FedclustError, match="0 clients can take part.*does not list study 's'"):
        run(tmp_path)


def test_an_unexpected_error_is_told_as_one(server: Pretended, tmp_path: Path) -> None:
    def broken(n: int, client: str, raw: bytes) -> bytes:
        raise ZeroDivisionError("x")

    server.transport.spoil = broken
    with pytest.raises(FedclustError, match="unexpected error at the server: ZeroDivisionError"):
        run(tmp_path)


def test_too_few_clients_are_waited_for_and_then_said(server: Pretended, tmp_path: Path) -> None:
    server.there = ["west"]
    with pytest.raises(TooFewClients, match="1 clients connected within 0.5 s \\(2 needed"):
        run(tmp_path)


def test_a_client_without_which_the_others_cannot_go_on_is_named_in_the_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_: Any) -> None:
        raise TooFewClients("lost", indispensable=["west"])

    monkeypatch.setattr(StudyJob, "_run_study", lose)
    StudyJob("s.toml", "run", str(tmp_path), "r", 5.0, False, False).run(InProcess({}), [])
    outcome = json.loads((tmp_path / "outcome.json").read_text())
    assert outcome["again"]
    assert outcome["indispensable"] == ["west"]


def test_a_job_is_not_submitted_without_an_indispensable_client(
    server: Pretended, tmp_path: Path
) -> None:
    """After a client was lost under masks, two others would be enough for the quorum only."""
    said: list[dict[str, Any]] = []
    watch = Watch(Conditions(tmp_path), (), 30.0, said.append)
    one = study(tmp_path)
    quorum = Quorum.of(one, resolve_tier(one, "none"))
    server.there = ["north", "south"]
    assert quorum.wait(server, QUICK, watch) == ["north", "south"]
    with pytest.raises(TooFewClients, match="without west: start 'fedclust client' there"):
        quorum.wait(server, QUICK, watch, frozenset(["west"]))
    assert "connected: north, south (2 needed; the others cannot go on without west)" in [
        line["message"] for line in said
    ]
    server.there = list(NAMES)
    assert quorum.wait(server, QUICK, watch, frozenset(["west"])) == list(NAMES)


def test_a_process_that_does_not_come_up_is_on_record(server: Pretended, tmp_path: Path) -> None:
    server.ready = ("north", "south")
    run(tmp_path)
    assert "did not start in time" in (tmp_path / "run" / "incidents.jsonl").read_text()


def test_an_interrupt_aborts_the_job(server: Pretended, tmp_path: Path) -> None:
    def interrupt(line: dict[str, Any]) -> None:
        if "plan" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_federated(
            study(tmp_path),
            tmp_path / "kits",
            tmp_path / "run",
            QUICK,
            interrupt,
            resume=False,
            force=False,
        )
    assert server.aborted == 1


def test_a_hostile_look_is_left_out(server: Pretended, tmp_path: Path) -> None:
    from fedclust.core.wire import pack, unpack

    def lie(n: int, client: str, raw: bytes) -> bytes:
        header, arrays = unpack(raw)
        if client != "west" or n > 1:
            return raw
        lies = {"rows": "many", "complete": 0, "numbers": [], "problems": []}
        return pack({**header, "values": lies}, arrays)

    server.transport.spoil = lie
    run(tmp_path)
    assert (
        results_of(tmp_path / "run")[1]["clients"][-1]["name"] == "west"
    )  # its second look was fine


def test_the_command_shows_progress_and_takes_no_markup_from_clients(
    server: Pretended, tmp_path: Path
) -> None:
    server.transport.spoil = lambda n, client, raw: (
        "[red]gone[/red]" if client == "west" and n == 5 else raw
    )
    (tmp_path / "s.toml").write_text(STUDY)
    words = ["server", str(tmp_path / "s.toml"), "--kits", str(tmp_path / "kits")]
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "run"), "--grace", "0"])
    assert done.exit_code == 0, done.output
    assert "llf-fcm, round 1: " in done.output
    assert "west: [red]gone[/red]" in done.output
    again = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "run")])
    assert again.exit_code == 1
    assert "exists already" in again.output


def test_what_a_client_forbids_is_not_asked_again(server: Pretended, tmp_path: Path) -> None:
    """No further job would change its client.toml."""
    for name in NAMES:
        file = tmp_path / "sites" / name / "client.toml"
        file.write_text(file.read_text() + 'studies = ["another"]\n')
    with pytest.raises(FedclustError, match=r"client.toml does not list study 's' under studies"):
        run(tmp_path)
    assert len(server.jobs) == 1


def test_a_client_whose_columns_changed_is_left_out_if_the_others_are_enough(
    server: Pretended, tmp_path: Path
) -> None:
    features = "[features]\nheight = {}\nwidth = {}\n"
    file = tmp_path / "sites" / "west" / "people.csv"
    file.write_text(file.read_text().replace("height,width", "height,breadth"))
    said = run(tmp_path, STUDY + features)
    reported = [line["incident"] for line in said if "incident" in line]
    assert [(one["client"], one["plan"]) for one in reported] == [("west", "preflight")]
    assert "its data do not fit: column 'width': the column does not exist" in reported[0]["what"]
    profile = json.loads((tmp_path / "run" / "profile.json").read_text())
    assert [client["name"] for client in profile["clients"]] == ["north", "south"]
    with pytest.raises(
        FedclustError, match="client 'west': column 'width': the column does not exist"
    ):
        run(tmp_path, STUDY.replace("min_clients = 2", "min_clients = 3") + features, force=True)
