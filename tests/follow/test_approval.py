"""Owners approve studies: hashes, decisions, rules of client.toml, and what each side reads."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fedclust import __version__
from fedclust.channels import Incident
from fedclust.client.config import read_client_config
from fedclust.core import Code, Refusal, TooFewClients
from fedclust.core.wire import unpack
from fedclust.deploy.watch import Begins, IsRefused, Waits, Watch
from fedclust.follow.approval import read_mailed_study, study_hash
from fedclust.follow.decisions import Approvals
from fedclust.follow.rules import allow_study
from fedclust.follow.words import describe_study
from fedclust.privacy import Ledger
from fedclust.privacy.accounting import mu_for
from fedclust.study.conflicts import count_requests
from fedclust.study.read import read_study, resolve_tier
from fedclust.study.run import run_study

from ..support.following import RUN, Federation, Sites, tables
from ..support.in_process import results_of
from ..support.pretended import STUDY as UNFOLLOWED

pytest.importorskip("cryptography")

ASK = 'privacy = "secure"\napproval = "ask"'


def approvals(there: Federation, client: str) -> Approvals:
    return Approvals(there.folder / client)


def approve(there: Federation, *clients: str, approved: bool = True) -> str:
    hash = study_hash(read_mailed_study(there.path))
    for client in clients or there.rows:
        approvals(there, client).decide("s", hash, approved=approved)
    return hash


def logged(there: Federation, client: str) -> list[dict[str, Any]]:
    text = (there.folder / client / "disclosures.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


# The hash


def test_the_hash_is_the_same_at_owner_server_and_client(tmp_path: Path) -> None:
    """Mailed, read by the server, and as the client computed it from what the server sent."""
    there = Federation(tmp_path, tables(3), consent=ASK)
    mailed = tmp_path / "mail" / "s.toml"
    mailed.parent.mkdir()
    text = there.path.read_text()
    mailed.write_text("# a word of the coordinator\n" + text.replace("/people.csv", "/mine.csv"))
    hash = study_hash(read_mailed_study(mailed))
    assert hash == study_hash(read_study(there.path, files=False))
    with pytest.raises(TooFewClients):
        there.run(tmp_path / "run")
    for client in there.rows:
        assert approvals(there, client).pending_hashes() == [hash]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("n_clusters = 3", "n_clusters = 4"),
        ("high = 1", "high = 2"),
        ('tier = "secure"', 'tier = "secure"\nmax_queries = 51'),
        ('algorithm = "lossless"', 'algorithm = "lossless"\nseed = 1'),
        ('algorithm = "lossless"', 'algorithm = "lossless"\nn_init = 1\ntol = 0.1'),
        ("x1 = ", "x2 = "),
        ("c02 = ", "c03 = "),
        ("report = false", "report = true"),
    ],
)
def test_every_setting_changes_the_hash(before: str, after: str, tmp_path: Path) -> None:
    there = Federation(tmp_path, tables(3))
    hash, text = study_hash(read_mailed_study(there.path)), there.path.read_text()
    assert before in text
    there.path.write_text(text.replace(before, after, 1))
    assert study_hash(read_mailed_study(there.path)) != hash


def test_name_and_version_change_the_hash_and_the_default_tier_does_not(tmp_path: Path) -> None:
    there = Federation(tmp_path, tables(3))
    study = read_mailed_study(there.path)
    assert study_hash(study, "0.0.1") != study_hash(study)
    assert study_hash(replace(study, path=tmp_path / "t.toml")) != study_hash(study)
    there.path.write_text(there.path.read_text().replace('tier = "secure"', ""))
    assert study_hash(read_mailed_study(there.path)) == study_hash(study)


# Decisions


def test_nothing_is_answered_before_the_owner_has_approved(tmp_path: Path) -> None:
    there = Federation(tmp_path, tables(3), consent=ASK)
    with pytest.raises(TooFewClients, match="no client follows.*c00, c01, c02: its owner has not"):
        there.run(tmp_path / "run")
    for client in there.rows:
        assert {line["code"] for line in logged(there, client)} == {Code.APPROVAL}
        assert not (there.folder / client / "ledger.jsonl").exists()
        assert not (there.folder / client / "following").exists()
        (waiting,) = approvals(there, client).pending()
        assert (waiting.author, waiting.members) == ("coordinator", tuple(there.rows))
    approve(there)
    assert approvals(there, "c00").pending() == []
    there.run(tmp_path / "run")
    run_study(there.study, tmp_path / "here")
    assert results_of(tmp_path / "run") == results_of(tmp_path / "here")


def test_a_refused_study_is_not_asked_about_again(tmp_path: Path) -> None:
    there = Federation(tmp_path, tables(4), consent=ASK)
    approve(there)
    approve(there, "c02", approved=False)
    there.run(tmp_path / "run", needed=3)
    assert [line["refused"] for line in logged(there, "c02")] == [
        "its owner has refused this study"
    ]
    assert approvals(there, "c02").pending() == []
    with pytest.raises(TooFewClients, match="3 clients follow the study, 4 needed") as ended:
        there.run(tmp_path / "other", run="b1", needed=4)
    assert ended.value.final


def test_an_owner_who_refuses_during_a_run_is_obeyed(tmp_path: Path) -> None:
    """Without approval = "ask", too: no sum leaves after the decision."""
    there = Federation(tmp_path, tables(8, n=20))
    refused_at: list[int] = []

    class Watched(Sites):
        def exchange(self, clients: Sequence[str], request: bytes, seconds: float) -> Any:
            if unpack(request).header.get("step") == 3 and not refused_at:
                approve(there, "c01", approved=False)
                refused_at.append(len(logged(there, "c01")))
            return super().exchange(clients, request, seconds)

    done = there.run(tmp_path / "run", Watched(there))
    assert "c01" not in [client.name for client in done.profile.clients if client.rounds]
    after = logged(there, "c01")[refused_at[0] :]
    assert after
    assert all(line["code"] == Code.CONSENT for line in after)


def test_the_server_waits_for_an_owner_and_says_for_whom(tmp_path: Path) -> None:
    there = Federation(tmp_path, tables(3), consent=ASK)
    approve(there, "c00", "c02")
    waits: list[tuple[str, ...]] = []
    incidents: list[Incident] = []

    def on_wait(clients: Sequence[str]) -> None:
        waits.append(tuple(clients))
        approve(there, *clients) if clients else None

    options = {"approval_wait": 30.0, "on_wait": on_wait, "record": incidents.append, "needed": 3}
    there.run(tmp_path / "run", **options)
    assert waits == [("c01",), ()]
    assert incidents == []
    run_study(there.study, tmp_path / "here")
    assert results_of(tmp_path / "run") == results_of(tmp_path / "here")


def test_a_study_goes_on_without_an_owner_who_does_not_decide(tmp_path: Path) -> None:
    there = Federation(tmp_path, tables(4), consent=ASK)
    approve(there, "c00", "c01", "c02")
    incidents: list[Incident] = []
    done = there.run(tmp_path / "run", needed=3, approval_wait=0.3, record=incidents.append)
    assert [client.name for client in done.profile.clients] == ["c00", "c01", "c02"]
    (incident,) = incidents
    assert (incident.plan, incident.client) == ("follow", "c03")
    assert "has not approved the study within 0.3 s" in incident.what
    assert "verified" not in logged(there, "c03")[-1]


def test_with_too_few_approvals_nothing_begins_and_a_later_try_does(tmp_path: Path) -> None:
    there = Federation(tmp_path, tables(3), consent=ASK)
    approve(there, "c00", "c01")
    with pytest.raises(TooFewClients) as ended:
        there.run(tmp_path / "run", needed=3)
    assert str(ended.value) == (
        "2 clients follow the study, 3 needed; c02: its owner has not approved the study within "
        "0 s, with 'fedclust approve KIT' at that client"
    )
    assert ended.value.final  # no new job is submitted; the owner has to act
    assert not any("step" in line for line in logged(there, "c00"))
    approve(there, "c02")
    there.run(tmp_path / "run", needed=3)
    run_study(there.study, tmp_path / "here")
    assert results_of(tmp_path / "run") == results_of(tmp_path / "here")


def test_the_server_does_not_wait_where_an_approval_cannot_help(tmp_path: Path) -> None:
    there = Federation(tmp_path, tables(3), consent=ASK)
    approve(there, "c00")
    approve(there, "c01", approved=False)
    with pytest.raises(TooFewClients, match="1 clients follow the study, 3 needed"):
        there.run(tmp_path / "run", needed=3, approval_wait=600.0)


def test_where_the_owner_is_asked_no_study_is_answered_unfollowed(tmp_path: Path) -> None:
    """With tier none single messages would be relayed, so there is nothing to follow."""
    from fedclust.client.codec import encode
    from fedclust.client.requests import Preflight
    from fedclust.core.wire import pack

    there = Federation(tmp_path, tables(3), consent='approval = "ask"')
    kind, header, arrays = encode(Preflight(None, "llf-cm"))
    header |= {"version": __version__}
    request = {"kind": kind, "id": f"{RUN}/1", "about": {"study": "s"}, **header}
    answer = unpack(there.sites["c00"].answer(pack(request, arrays), "coordinator"))
    assert "its owner approves every study" in json.dumps(answer.header)
    assert not (there.folder / "c00" / "ledger.jsonl").exists()


def test_few_studies_wait_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedclust.follow.decisions._MOST_PENDING", 2)
    there = Federation(tmp_path, tables(3), consent=ASK)
    text = there.path.read_text()
    for seed in range(4):
        there.path.write_text(text.replace("n_clusters = 3", f"n_clusters = 3\nseed = {seed}"))
        with pytest.raises(TooFewClients) as ended:
            there.run(tmp_path / "run", run=f"a{seed}")
    assert "2 other studies wait for its owner already" in str(ended.value)
    assert len(approvals(there, "c00").pending()) == 2


def test_a_study_that_waited_under_another_version_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Federation(tmp_path, tables(3), consent=ASK)
    with pytest.raises(TooFewClients):
        there.run(tmp_path / "run")
    (waiting,) = (there.folder / "c00" / "pending").iterdir()
    waiting.rename(waiting.with_name("0" * 64))  # its hash in another version
    assert approvals(there, "c00").pending() == []
    assert not list((there.folder / "c00" / "pending").iterdir())


def test_a_user_without_a_name_decides_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr("getpass.getuser", nameless)
    made = Approvals(tmp_path).decide("s", "ab" * 32, approved=True)
    assert made.by.startswith("user ")
    with open(tmp_path / "approvals.jsonl", "a") as file:
        file.write('{"when": "2')  # a crash while another line was written
    assert list(Approvals(tmp_path).decisions()) == [made]


# Rules of client.toml

CONSENT = 'privacy = "secure"\n'
BROKEN = {
    "studies": ('studies = ["t"]', "", "does not list study 's' under studies"),
    "authors": ('authors = ["ana"]', "", "does not list author 'coordinator' under authors"),
    "algorithms": ('algorithms = ["llf-fcm"]', "", "does not list 'llf-cm' under algorithms"),
    "columns": ('columns = ["x0"]', "", "does not list the column 'x1' under columns"),
    "max_clusters": ("max_clusters = 2", "", "n_clusters = 3, this client allows max_clusters = 2"),
    "max_bins": ("max_bins = 20", "", "cells = 24, this client allows max_bins = 20"),
    "max_rounds": (
        "max_rounds = 20",
        "",
        "the study can take 50 rounds, but client.toml allows max_rounds = 20",
    ),
    "max_rounds of starts": (
        "max_rounds = 40",
        "n_init = 3\nmax_rounds = 10",
        "the study can take 44 rounds, but client.toml allows max_rounds = 40",
    ),
    "max_queries": (
        "max_queries = 20",
        "",
        "the study can ask 50 queries, but client.toml allows max_queries = 20",
    ),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_is_named_before_any_row_is_read(rule: str, tmp_path: Path) -> None:
    """There is no file to read, and nobody is asked to approve."""
    consent, clustering, why = BROKEN[rule]
    there = Federation(tmp_path, tables(4), consent=f"{ASK}\n{consent}", clustering=clustering)
    for client in there.rows:
        (there.folder / client / "people.csv").unlink()
    with pytest.raises(TooFewClients) as ended:
        there.run(tmp_path / "run", approval_wait=600.0, needed=3)
    assert f": refused: {why}" in str(ended.value).replace("client.toml does not", "does not")
    assert "c00, c01, c02, c03: refused" in str(ended.value)
    assert ended.value.final
    (line,) = logged(there, "c00")
    assert line["code"] == Code.CONSENT
    assert approvals(there, "c00").pending() == []
    assert not (there.folder / "c00" / "ledger.jsonl").exists()


@pytest.mark.parametrize("most", [20, 80])
@pytest.mark.parametrize(
    "clustering", ['n_clusters = "auto"\nk_range = [2, 4]', 'n_clusters = 3\ninit = "summary"']
)
def test_a_summary_has_no_more_groups_than_clusters_are_allowed(
    clustering: str, most: int, tmp_path: Path
) -> None:
    """It would be refused in the middle of the study otherwise."""
    there = Federation(tmp_path, tables(3))
    there.path.write_text(there.path.read_text().replace("n_clusters = 3", clustering))
    assert "a summary of your rows in at most 11 rounds" in "\n".join(
        f"{line}" for line in describe_study(there.study)
    )
    file = there.folder / "c00" / "client.toml"
    file.write_text(f"{file.read_text()}max_clusters = {most}\n")
    config = read_client_config(file)
    if most == 80:
        allow_study(config, config.policy(), there.study)
        return
    with pytest.raises(Refusal, match="summary of up to 80 small groups of rows"):
        allow_study(config, config.policy(), there.study)


@pytest.mark.parametrize(
    ("consent", "tier", "privacy", "why"),
    [
        (
            'privacy = "secure"',
            "dp",
            "epsilon = 2.0",
            'lacks masks, required by privacy = "secure"',
        ),
        ('privacy = "dp"\nepsilon = 5.0', "secure", "", "lacks the full noise of this client"),
        ('privacy = "secure+dp"\nepsilon = 5.0', "secure", "", "lacks noise and masks"),
        ('privacy = "secure+dp"\nepsilon = 5.0', "dp", "epsilon = 2.0", "lacks noise and masks"),
        ('privacy = "dp"\nepsilon = 5.0', "secure+dp", "epsilon = 2.0", "lacks the full noise"),
    ],
)
def test_a_weaker_tier_is_refused_at_once(
    consent: str, tier: str, privacy: str, why: str, tmp_path: Path
) -> None:
    there = Federation(tmp_path, tables(4), tier=tier, privacy=privacy, consent=consent)
    with pytest.raises(TooFewClients, match=why):
        there.run(tmp_path / "run")
    assert not any("plan" in line for line in logged(there, "c00"))


@pytest.mark.parametrize("tier", ["dp", "secure+dp"])
def test_a_study_that_costs_more_than_is_left_of_epsilon_spends_nothing(
    tier: str, tmp_path: Path
) -> None:
    pytest.importorskip("opendp")
    consent = f'privacy = "{tier}"\nepsilon = 2.0'
    there = Federation(tmp_path, tables(4), tier=tier, privacy="epsilon = 2.1", consent=consent)
    with pytest.raises(
        TooFewClients, match=r"spends epsilon = 2.1, but client.toml allows epsilon"
    ):
        there.run(tmp_path / "run")
    there.path.write_text(there.path.read_text().replace("epsilon = 2.1", "epsilon = 2.0"))
    ledger = Ledger(there.folder / "c01" / "ledger.jsonl")
    ledger.spend(mu_for(0.5, 1e-6) ** 2, what="another study")
    there.sites = there.open_sites()
    with pytest.raises(TooFewClients, match=r"c01: .* of which 0.5 is spent"):
        there.run(tmp_path / "run", run="b2", needed=4)
    assert ledger.spent == pytest.approx(mu_for(0.5, 1e-6) ** 2)
    ledger.reset("other data")
    there.sites = there.open_sites()
    there.run(tmp_path / "run", run="b3", needed=4)
    assert Ledger(ledger.path).spent == pytest.approx(mu_for(2.0, 1e-6) ** 2)


def test_a_column_with_too_many_bounds_is_refused_at_once(tmp_path: Path) -> None:
    there = Federation(tmp_path, tables(3), consent=f"{CONSENT}max_descriptions = 1")
    there.run(tmp_path / "one")
    there.path.write_text(there.path.read_text().replace("high = 1", "high = 2", 1))
    n = len(logged(there, "c00"))
    with pytest.raises(TooFewClients, match="max_descriptions = 1 .* and 'x0' has had as many"):
        there.run(tmp_path / "two", run="b2")
    assert len(logged(there, "c00")) == n + 1


def test_a_run_that_has_begun_may_finish_on_its_own_budget(tmp_path: Path) -> None:
    """What the run has spent itself is not held against it when it continues."""
    pytest.importorskip("opendp")
    consent = 'privacy = "dp"\nepsilon = 2.0'
    there = Federation(tmp_path, tables(3), tier="dp", privacy="epsilon = 2.0", consent=consent)
    lost = "gone"

    def spoil(client: str, request: bytes, answer: bytes) -> bytes | str:
        step = unpack(request).header.get("step")
        return lost if lost and step is not None and step >= 3 else answer

    with pytest.raises(TooFewClients):
        there.run(tmp_path / "run", Sites(there, spoil))
    assert Ledger(there.folder / "c00" / "ledger.jsonl").spent > 0
    lost = ""
    there.sites = there.open_sites()
    there.run(tmp_path / "run", Sites(there, spoil))
    assert (tmp_path / "run" / "model.json").exists()


@pytest.mark.parametrize("F", [2, 5])
@pytest.mark.parametrize("clustering", ["", "fuzzy = true", "n_init = 3\nmax_rounds = 8"])
def test_no_study_takes_more_rounds_than_its_owner_was_told(
    clustering: str, F: int, tmp_path: Path
) -> None:
    """The longest run: it never converges."""
    there = Federation(tmp_path, tables(3, F=F), clustering=f"{clustering}\ntol = 0.0")
    there.run(tmp_path / "run")
    study = there.study
    most = count_requests(study, resolve_tier(study, "secure"))
    answered = [line for line in logged(there, "c00") if "plan" in line]
    assert len(answered) <= most
    assert Ledger(there.folder / "c00" / "ledger.jsonl").n_queries <= min(most, 50)
    (words,) = (w for w in describe_study(study) if w.startswith("Computes"))
    limit = 8 if "max_rounds" in clustering else 40
    assert f"at most {limit} rounds from" in words
    rounds = [line["round"] for line in answered if line["plan"].startswith("llf")]
    assert max(rounds) < limit


COLUMNS = """
[clustering]
algorithm = "lossless"
n_clusters = 3
max_rounds = 30
[data]
split = "columns"
id = "person"
[sampling]
min_clients = 3
[privacy]
tier = "{tier}"
"""


@pytest.mark.parametrize(
    ("consent", "tier", "why"),
    [
        ("split_columns = false", "secure", "needs split_columns = true"),
        ('split_columns = true\nalgorithms = ["llf-fcm"]', "secure", "under algorithms"),
        ("split_columns = true\nmax_clusters = 2", "secure", "max_clusters = 2"),
        ("split_columns = true\nmax_rounds = 20", "secure", "30 rounds, .* max_rounds = 20"),
        ("split_columns = true", "none", "clients cannot follow a study with tier 'none'"),
        ('split_columns = true\nprivacy = "dp"\nepsilon = 1.0', "secure", "do not offer"),
        ('split_columns = true\nprivacy = "secure"', "secure", ""),
    ],
)
def test_rules_over_split_columns(consent: str, tier: str, why: str, tmp_path: Path) -> None:
    data = 'file = "people.csv"\nid = "person"\nsecret = "a secret of all owners"'
    (tmp_path / "client.toml").write_text(f"[data]\n{data}\n[consent]\n{consent}\n")
    (tmp_path / "s.toml").write_text(COLUMNS.format(tier=tier))
    config = read_client_config(tmp_path / "client.toml")
    study = read_mailed_study(tmp_path / "s.toml")
    if not why:
        allow_study(config, config.policy(), study)
        return
    with pytest.raises(Refusal, match=why):
        allow_study(config, config.policy(), study)


# Versions


def test_another_version_is_a_sentence_on_both_sides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Federation(tmp_path, tables(3))
    watch = Watch(read_client_config(there.folder / "c00" / "client.toml"))
    monkeypatch.setattr("fedclust.follow.relay.__version__", "9.9")
    why = (
        f"the server runs fedclust 9.9, this client {__version__}; a study needs the same "
        "version everywhere"
    )
    with pytest.raises(TooFewClients) as ended:
        there.run(tmp_path / "run")
    assert f"c00, c01, c02: refused: {why}" in str(ended.value)
    assert ended.value.final
    assert list(watch.find_new()) == [IsRefused("s", why)]


def test_an_owner_reads_which_refusals_need_somebody_to_act(tmp_path: Path) -> None:
    """Such as data that changed during a study; another copy of the request cures the others."""
    there = Federation(tmp_path, tables(1))
    kit = there.folder / "c00"
    watch = Watch(read_client_config(kit / "client.toml"))
    changed = {"kind": "round", "study": "s", "refused": "its data changed", "code": "changed"}
    others = ({"code": "behind"}, {"code": "approval"}, {"code": "tired"}, {"code": None})
    with open(kit / "disclosures.jsonl", "a", encoding="utf-8") as file:
        for line in (changed, *({**changed, **one} for one in others), changed):
            file.write(json.dumps(line) + "\n")
    assert list(watch.find_new()) == [IsRefused("s", "its data changed", whole=False)]


def test_a_client_that_is_upgraded_during_a_run_leaves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Federation(tmp_path, tables(3))
    killed = "gone"

    def spoil(client: str, request: bytes, answer: bytes) -> bytes | str:
        step = unpack(request).header.get("step")
        return killed if killed and step is not None and step >= 4 else answer

    with pytest.raises(TooFewClients):
        there.run(tmp_path / "run", Sites(there, spoil))
    killed = ""
    there.sites = there.open_sites()
    monkeypatch.setattr("fedclust.follow.endpoint.__version__", "9.9")
    monkeypatch.setattr(
        "fedclust.follow.openings.study_hash", lambda study: study_hash(study, "9.9")
    )
    with pytest.raises(TooFewClients):
        there.run(tmp_path / "run", Sites(there, spoil))
    why = "the hash of the study is not that of its settings under fedclust"
    assert logged(there, "c00")[-1]["refused"].startswith(why)


# What owners and readers see


def test_the_hash_is_in_every_line_of_the_log_and_in_the_results(tmp_path: Path) -> None:
    there = Federation(tmp_path, tables(3))
    done = there.run(tmp_path / "run")
    hash = study_hash(read_mailed_study(there.path))
    assert {line["study_hash"] for line in logged(there, "c01")} == {hash}
    assert done.model.about.study_hash == hash


def test_a_watch_reports_each_study_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedclust.deploy.watch._INTERVAL", 0.0)
    there = Federation(tmp_path, tables(3), consent=ASK)
    config = read_client_config(there.folder / "c00" / "client.toml")
    watch = Watch(config)
    with pytest.raises(TooFewClients):
        there.run(tmp_path / "run")
    (waits,) = watch.find_new()
    assert isinstance(waits, Waits)
    assert list(watch.find_new()) == []
    hash = approve(there)
    there.run(tmp_path / "run")
    (begins,) = watch.find_new()
    assert isinstance(begins, Begins)
    assert (begins.study.path.stem, begins.hash) == ("s", hash)
    there.run(tmp_path / "again", run="b2")
    assert list(watch.find_new()) == []
    assert list(Watch(config).find_new()) == []


def test_the_words_name_columns_tier_rounds_and_what_is_published(tmp_path: Path) -> None:
    there = Federation(
        tmp_path, tables(3), k=4, clustering="fuzzy = true\nn_init = 2\nmax_rounds = 9"
    )
    words = "\n".join(describe_study(read_mailed_study(there.path)))
    for expected in (
        "Study 's' under fedclust",
        f"Hash: {study_hash(read_mailed_study(there.path))}",
        "Uses: x0 (0 to 1), x1 (0 to 1).",
        "fuzzy clustering with 'llf-fcm' into 4 clusters, at most 9 rounds from each of 2 starts",
        "Privacy: tier 'secure'. The server learns totals",
        "Queries: at most 50 to your data",
        "masked so that only the total of all clients can be read",
        "Is published: centres, sizes, means",
        "Stays with you: all rows, their ids and the cluster of each row",
    ):
        assert expected in words


@pytest.mark.parametrize("tier", ["dp", "secure+dp"])
def test_the_words_under_noise(tier: str, tmp_path: Path) -> None:
    there = Federation(tmp_path, tables(3), tier=tier, privacy="epsilon = 2.0")
    words = "\n".join(describe_study(read_mailed_study(there.path)))
    assert "at most 3 rounds from one start" in words
    assert "with noise that hides any one row" in words
    assert "Is published: centres of the clusters, the names" in words
    assert ("masked" in words) == (tier == "secure+dp")


def test_the_words_over_split_columns(tmp_path: Path) -> None:
    features = "[features]\nsex = { categories = ['f', 'm'] }\nage = { unit = 'years' }\n"
    (tmp_path / "s.toml").write_text(COLUMNS.format(tier="secure") + features)
    words = "\n".join(describe_study(read_mailed_study(tmp_path / "s.toml")))
    assert "Uses: the columns sex (f, m), age (years); you hold some of them." in words
    assert "keyed hashes of the ids of your records" in words
    assert "Queries" not in words


def test_a_study_that_cannot_be_followed_has_no_hash_to_compare(tmp_path: Path) -> None:
    from fedclust.follow.words import announce_hash

    (tmp_path / "s.toml").write_text(UNFOLLOWED)
    study = read_study(tmp_path / "s.toml", files=False)
    words = announce_hash(study, resolve_tier(study, "secure"))
    assert words.startswith("clients cannot follow the study 's' with tier 'none'")
