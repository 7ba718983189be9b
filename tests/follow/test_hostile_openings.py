"""A server that opens studies which nobody approved, or other ones than it opened."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedclust import __version__
from fedclust.client.endpoint import ClientEndpoint
from fedclust.client.identities import PEERS
from fedclust.core.wire import Frame, pack, unpack
from fedclust.follow import openings
from fedclust.follow.approval import open_study, study_hash
from fedclust.follow.decisions import Approvals
from fedclust.follow.endpoint import FollowingEndpoint
from fedclust.follow.words import describe_study

from ..support.following import RUN, Federation, tables
from .scenes import AUTHOR, Recorded, is_refused, record_run

pytest.importorskip("cryptography")

ROWS = tables(5)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record_run(tmp_path_factory.mktemp("honest"), ROWS)


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    return Federation(tmp_path / "kits", ROWS)


def opening(
    text: str, folder: Path, run: str = RUN, members: Any = tuple(ROWS), lies: Any = None
) -> bytes:
    """A request to follow a study, with the hash that its text has."""
    header = {
        "kind": "follow",
        "id": f"{run}/follow",
        "about": {"study": "s"},
        "text": text,
        "version": __version__,
        "hash": study_hash(open_study(folder / "scratch", "s", text)),
        "members": list(members),
    }
    return pack({**header, **(lies or {})}, {})


def ask(site: ClientEndpoint, raw: bytes, author: str = AUTHOR) -> Frame:
    return unpack(site.answer(raw, author))


def is_answered(answer: Frame) -> bool:
    return bool(answer.header["kind"] == "reply")


def preflight(recorded: Recorded, run: str = RUN, **lies: Any) -> bytes:
    """The first request of the study."""
    header, arrays = unpack(recorded.record.asked[0])
    return pack({**header, "id": f"{run}/0", **lies}, arrays)


# Another study than the one that was opened


def changed(text: str) -> str:
    """The study with one more cluster."""
    return text.replace("n_clusters = 3", "n_clusters = 4")


def test_a_study_that_is_refused_does_not_replace_the_approved_one(
    recorded: Recorded, tmp_path: Path
) -> None:
    """Its text must not be what another process of the client reads."""
    there = Federation(tmp_path / "kits", ROWS, consent='privacy = "secure"\napproval = "ask"')
    kit, text = there.folder / "c00", there.path.read_text()
    approved, other = opening(text, tmp_path), opening(changed(text), tmp_path)
    study = open_study(tmp_path / "approved", "s", text)
    Approvals(kit).decide("s", study_hash(study), approved=True)
    assert is_answered(ask(there.sites["c00"], approved))
    assert is_refused(ask(there.sites["c00"], other), "approval")
    again = there.open_site("c00")
    assert is_answered(ask(again, preflight(recorded)))
    followed = [file.read_text() for file in kit.glob("following/*/*") if file.suffix != ".bin"]
    assert followed
    assert not any("n_clusters = 4" in content for content in followed)


@pytest.mark.parametrize("before", ["CMeans", "KeyExchange", "label"])
def test_the_study_of_a_run_does_not_change(
    before: str, recorded: Recorded, tmp_path: Path
) -> None:
    scene = recorded.before(recorded.step(before), tmp_path)
    text = recorded.federation.path.read_text()
    answer = scene.ask(opening(changed(text), tmp_path))
    assert is_refused(answer, "study")
    assert "changed during the run" in answer.header["why"]
    assert "changed during the run" in scene.logged()["refused"]
    for _ in range(2):
        assert is_refused(scene.ask(scene.request), "study")
        scene.restart("c00")
    assert is_answered(scene.ask(opening(text + "\n# a remark\n", tmp_path), "c01"))
    assert is_answered(scene.ask(scene.request, "c01"))


def test_the_clients_of_a_run_do_not_change(recorded: Recorded, tmp_path: Path) -> None:
    scene = recorded.before(recorded.step("CMeans"), tmp_path)
    text = recorded.federation.path.read_text()
    answer = scene.ask(opening(text, tmp_path, members=["c00", "c01", "c02"]))
    assert is_refused(answer, "study")
    assert is_refused(scene.ask(scene.request), "study")


def test_the_name_of_the_study_does_not_change(recorded: Recorded, tmp_path: Path) -> None:
    scene = recorded.before(recorded.step("label"), tmp_path)
    scene.sites["c00"] = FollowingEndpoint(tmp_path / "c00", "c00")  # not bound to one study
    honest = scene.request
    other = Frame({**honest.header, "about": {"study": "other"}}, honest.arrays)
    assert is_refused(scene.ask(other), "study")
    assert not list(tmp_path.glob("c00/labels/other*"))


def test_a_file_that_was_exchanged_is_noticed(recorded: Recorded, tmp_path: Path) -> None:
    """Whatever is in the folder of a run, the hash says what was opened."""
    scene = recorded.before(recorded.step("CMeans"), tmp_path)
    (file,) = tmp_path.glob("c00/following/*/opening.json")
    file.write_text(file.read_text().replace("n_clusters = 3", "n_clusters = 4"))
    assert is_refused(scene.ask(scene.request), "study")


def test_an_owner_who_changes_the_mind_is_heard(recorded: Recorded, tmp_path: Path) -> None:
    there = Federation(tmp_path / "kits", ROWS, consent='privacy = "secure"\napproval = "ask"')
    text, kit = there.path.read_text(), there.folder / "c00"
    study = open_study(tmp_path / "approved", "s", text)
    Approvals(kit).decide(study.path.stem, study_hash(study), approved=True)
    assert is_answered(ask(there.sites["c00"], opening(text, tmp_path)))
    Approvals(kit).decide(study.path.stem, study_hash(study), approved=False)
    assert is_refused(ask(there.open_site("c00"), preflight(recorded)), "consent")


# Studies that break the rules of client.toml


def tier_of(tier: str, more: str = "") -> Callable[[str], str]:
    return lambda text: text.replace('tier = "secure"', f'tier = "{tier}"\n{more}')


DOWNGRADES: dict[str, tuple[Callable[[str], str], str]] = {
    "none": (tier_of("none"), "study"),
    "guarded": (tier_of("guarded"), "study"),
    "paper": (tier_of("paper"), "study"),
    "dp": (tier_of("dp", "epsilon = 1.0"), "consent"),
    "stacks": (
        lambda text: tier_of("none")(text).replace('"lossless"', '"k-fed"'),
        "study",
    ),
    "many clusters": (
        lambda text: text.replace("n_clusters = 3", "n_clusters = 100000000"),
        "consent",
    ),
    "the id": (
        lambda text: text.replace("[features]", "[features]\nperson = { low = 0, high = 1 }"),
        "consent",
    ),
}


@pytest.mark.parametrize("name", DOWNGRADES)
def test_a_study_below_the_required_tier_is_not_opened(
    name: str, federation: Federation, recorded: Recorded, tmp_path: Path
) -> None:
    change, code = DOWNGRADES[name]
    text = change(federation.path.read_text())
    answer = ask(federation.sites["c00"], opening(text, tmp_path))
    assert is_refused(answer, code), answer.header
    assert not (federation.folder / "c00" / "following").exists(), "nothing of it is kept"
    assert is_refused(ask(federation.sites["c00"], preflight(recorded)), "behind")


def test_a_client_without_the_rule_would_take_part(tmp_path: Path) -> None:
    there = Federation(tmp_path / "kits", ROWS, consent="")
    text = tier_of("dp", "epsilon = 1.0")(there.path.read_text())
    assert is_answered(ask(there.sites["c00"], opening(text, tmp_path)))


@pytest.mark.parametrize(
    ("lies", "code"),
    [
        ({"hash": "0" * 64}, "study"),
        ({"version": "0.0.1"}, "study"),
        ({"members": ["c01", "c02", "c03"]}, "study"),
        ({"members": ["c00", "c01", "mallory"]}, "consent"),
        ({"members": "c00"}, "request"),
        ({"members": [["c00"]]}, "request"),
        ({"text": "[clustering"}, "study"),
        ({"text": "x" * 300_000}, "study"),
        ({"id": "../../../tmp/follow"}, "request"),
        ({"id": "..%2f/follow"}, "request"),
        ({"id": "a" * 65 + "/follow"}, "request"),
        ({"id": "\u0430bc/follow"}, "request"),
        ({"about": {"study": "../s"}}, "consent"),
    ],
)
def test_an_opening_that_lies_is_refused(
    lies: dict[str, Any], code: str, federation: Federation, tmp_path: Path
) -> None:
    raw = opening(federation.path.read_text(), tmp_path, lies=lies)
    assert is_refused(ask(federation.sites["c00"], raw), code)
    assert not (federation.folder / "c00" / "following").exists()


def test_masks_need_peers_that_the_server_did_not_invent(
    federation: Federation, tmp_path: Path
) -> None:
    raw = opening(federation.path.read_text(), tmp_path)
    (federation.folder / "c00" / PEERS).unlink()
    answer = ask(federation.open_site("c00"), raw)
    assert is_refused(answer, "consent")
    assert "peers.json" in answer.header["why"]
    assert is_answered(ask(federation.sites["c01"], raw))


def test_an_author_who_is_not_listed_opens_nothing(tmp_path: Path) -> None:
    there = Federation(tmp_path / "kits", ROWS, consent='privacy = "secure"\nauthors = ["anna"]')
    raw = opening(there.path.read_text(), tmp_path)
    assert is_refused(ask(there.sites["c00"], raw, "mallory"), "consent")
    assert not (there.folder / "c00" / "following").exists()
    assert is_answered(ask(there.sites["c00"], raw, "anna"))


# Requests outside of a study


def test_a_client_that_requires_sums_answers_nothing_outside_of_a_study(
    recorded: Recorded, tmp_path: Path
) -> None:
    """Every request of the run, once it claims no step, and before or after an opening."""
    for step in recorded.record.asked:
        scene = recorded.before(step, tmp_path / str(step))
        header, arrays = scene.request
        loose = {n: v for n, v in header.items() if n not in ("step", "before")}
        loose["version"] = __version__
        kept = {n: a for n, a in arrays.items() if not n.startswith("before")}
        for id in (header["id"], "b" * 16 + "/1"):
            answer = scene.ask(Frame({**loose, "id": id}, kept))
            assert is_refused(answer, "consent")
            assert "only studies that clients can follow" in answer.header["why"]
        assert is_answered(scene.ask(scene.request)), "the study goes on"


def test_an_endpoint_that_does_not_follow_answers_them(recorded: Recorded, tmp_path: Path) -> None:
    answered = 0
    for step in recorded.record.asked:
        scene = recorded.before(step, tmp_path / str(step))
        header, arrays = scene.request
        loose = {n: v for n, v in header.items() if n not in ("step", "before")}
        loose["version"] = __version__
        if loose["kind"] == "round":
            loose["transforms"] = []
        kept = {n: a for n, a in arrays.items() if not n.startswith("before")}
        kit = scene.folder / "c00"
        (kit / "client.toml").write_text('[data]\nfile = "people.csv"\nid = "person"\n')
        raw = pack(loose, kept)
        answered += is_answered(ask(ClientEndpoint(kit, "c00", "s"), raw))
        assert is_answered(ask(FollowingEndpoint(kit, "c00", "s"), raw))
    assert answered == len(recorded.record.asked)


# Many openings


def test_runs_do_not_fill_the_disk(
    federation: Federation, recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openings, "MOST_RUNS", 4)
    site, shelf = federation.sites["c00"], federation.folder / "c00" / "following"
    text = federation.path.read_text()
    for number in range(4):
        assert is_answered(ask(site, opening(text, tmp_path, run=f"{number:016x}")))
    answer = ask(site, opening(text, tmp_path, run="f" * 16))
    assert is_refused(answer, "limit")
    assert str(federation.folder) not in answer.header["why"]
    assert len(list(shelf.iterdir())) == 4
    crafted = preflight(recorded, f"{2:016x}", counts=True)
    assert is_refused(ask(site, crafted), "study")  # the third run ends
    assert is_answered(ask(site, opening(text, tmp_path, run="f" * 16)))
    assert sorted(run.name for run in shelf.iterdir())[2] == f"{3:016x}"


def test_studies_that_wait_do_not_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedclust.follow.decisions._MOST_PENDING", 3)
    there = Federation(tmp_path / "kits", ROWS, consent='privacy = "secure"\napproval = "ask"')
    for seed in range(5):
        text = there.path.read_text().replace("[privacy]", f"seed = {seed}\n[privacy]")
        answer = ask(there.sites["c00"], opening(text, tmp_path))
        assert is_refused(answer, "approval" if seed < 3 else "consent")
    assert len(Approvals(there.folder / "c00").pending()) == 3


# What an owner reads


def test_no_study_writes_to_the_console_of_an_owner(tmp_path: Path) -> None:
    """Names of columns could move the cursor, and show another study than the one approved."""
    text = Federation(tmp_path / "kits", ROWS).path.read_text()
    bad = text.replace("x0 =", '"x0\\u001b[2Jage\\nPrivacy: tier none\\u202e" =')
    lines = list(describe_study(open_study(tmp_path / "bad", "s", bad)))
    assert all(line.isprintable() for line in lines)
    many = text.replace(
        "[clustering]",
        "\n".join(f"long{n:03d} = {{ low = 0, high = 1 }}" for n in range(200)) + "\n[clustering]",
    )
    shown = "\n".join(describe_study(open_study(tmp_path / "many", "s", many)))
    assert "long199" in shown, "no column is cut off"
