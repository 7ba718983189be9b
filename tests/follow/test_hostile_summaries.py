"""A server that crafts requests of summaries and mixtures, to clients that follow a study."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from fedclust.core.wire import Frame, unpack

from ..support.following import Federation, tables
from .scenes import Recorded, Recording, is_refused

pytest.importorskip("cryptography")

Tamper = Callable[[Frame], Frame]


class Attack(NamedTuple):
    """What is changed in the request of which algorithm; the last such request of its run."""

    at: str
    tamper: Tamper


def record(folder: Path, **changes: str) -> Recorded:
    """An honest run of the study with other settings."""
    federation = Federation(folder / "kits", tables(4, 60), privacy="max_queries = 60")
    text = federation.path.read_text()
    for old, new in changes.items():
        before = {"algorithm": '"lossless"', "n_clusters": "n_clusters = 3"}[old]
        assert before in text
        text = text.replace(before, new)
    federation.path.write_text(text)
    recording = Recording(federation, folder / "shelf")
    federation.run(folder / "out", recording)
    return Recorded(federation, recording)


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    auto = 'n_clusters = "auto"\nk_range = [2, 4]'
    return record(tmp_path_factory.mktemp("summary"), n_clusters=auto)


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(tmp_path_factory.mktemp("mixture"), algorithm='"llf-mixture"\nmax_rounds = 4')


def steps_of(recorded: Recorded, algorithm: str) -> list[int]:
    """All steps that ask for an algorithm."""
    asked = recorded.record.asked
    return [s for s in sorted(asked) if unpack(asked[s]).header.get("algorithm") == algorithm]


def changed(name: str, change: Callable[[Any], Any], *more: str) -> Tamper:
    def tamper(frame: Frame) -> Frame:
        arrays = {n: change(a) if n in (name, *more) else a for n, a in frame.arrays.items()}
        assert name in frame.arrays
        return Frame(frame.header, arrays)

    return tamper


def setting(**values: Any) -> Tamper:
    def tamper(frame: Frame) -> Frame:
        assert set(values) <= set(frame.header["settings"])
        settings = {**frame.header["settings"], **values}
        return Frame({**frame.header, "settings": settings}, frame.arrays)

    return tamper


def one_more(frame: Frame) -> Frame:
    """Another micro-cluster, at a place of the server's choice."""
    grown = changed("plan.init", lambda a: np.vstack([a, [[0.5, 0.5]]]), "down.centers")(frame)
    return setting(n_clusters=len(grown.arrays["plan.init"]))(grown)


def narrow(variance: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A variance that only a row at the centre can have."""
    found = variance.copy()
    found[0] = 1e-9
    return found


SUMMARY = {
    "crafted micro-clusters": changed("plan.init", lambda a: a[::-1] * 0.9, "down.centers"),
    "micro-clusters in another order": changed("plan.init", lambda a: a[::-1], "down.centers"),
    "one micro-cluster more": one_more,
    "one micro-cluster less": setting(n_clusters=3),
    "no borders": setting(borders=False),
}
MIXTURE = {
    "a narrow variance": Attack("Mixture", changed("down.variance", narrow)),
    "variances a millionth off": Attack(
        "Mixture", changed("down.variance", lambda a: a * (1 + 1e-6))
    ),
    "shares of clusters": Attack("Mixture", changed("down.share", lambda a: a[::-1] * 0.9)),
    "a finer unit": Attack("Mixture", changed("down.unit", lambda a: a / 2)),
    "other kinds of columns": Attack("Mixture", changed("down.blocks", lambda a: a + 1)),
    "crafted means": Attack("Mixture", changed("down.centers", lambda a: a * 0.9, "plan.init")),
    "a smaller least variance": Attack("Mixture", setting(min_variance=1e-9)),
    "the fit of a crafted mixture": Attack("MixtureFit", changed("plan.density", lambda a: a * 2)),
    "the fit at crafted centres": Attack(
        "MixtureFit", changed("plan.init", lambda a: a * 0.9, "down.centers")
    ),
}


def refuses(recorded: Recorded, step: int, folder: Path, tamper: Tamper) -> None:
    """A client refuses a changed request, counts nothing, and leaves the run."""
    scene = recorded.before(step, folder)
    counted = scene.queries()
    answer = scene.ask(tamper(scene.request))
    assert is_refused(answer, "study")
    assert scene.queries() == counted, "nothing was computed"
    assert is_refused(scene.ask(scene.request), "study"), "the study is over here"
    assert scene.ask(scene.request, "c01").header["kind"] == "reply"


@pytest.mark.parametrize("name", SUMMARY)
def test_a_summary_is_the_study_s(name: str, summary: Recorded, tmp_path: Path) -> None:
    """The last query of a summary also counts borders."""
    refuses(summary, steps_of(summary, "MicroQuery")[-1], tmp_path, SUMMARY[name])


@pytest.mark.parametrize("name", MIXTURE)
def test_a_mixture_is_the_study_s(name: str, mixture: Recorded, tmp_path: Path) -> None:
    attack = MIXTURE[name]
    refuses(mixture, steps_of(mixture, attack.at)[-1], tmp_path, attack.tamper)


@pytest.mark.parametrize("at", [0, 3])
def test_queries_of_a_summary_come_in_their_order(
    at: int, summary: Recorded, tmp_path: Path
) -> None:
    """Micro-clusters of a later query are narrower, and say more of a row."""
    steps = steps_of(summary, "MicroQuery")
    later = unpack(summary.record.asked[steps[-1]])

    def earlier(frame: Frame) -> Frame:
        kept = {n: frame.header[n] for n in ("id", "step", "before")}
        before = {n: a for n, a in frame.arrays.items() if n.startswith("before")}
        asked = {n: a for n, a in later.arrays.items() if not n.startswith("before")}
        return Frame({**later.header, **kept}, {**asked, **before})

    refuses(summary, steps[at], tmp_path, earlier)


def test_a_summary_is_asked_for_once(summary: Recorded, tmp_path: Path) -> None:
    """After the last query no other one follows."""
    steps = steps_of(summary, "MicroQuery")
    last = unpack(summary.record.asked[steps[-1]])

    def again(frame: Frame) -> Frame:
        kept = {n: frame.header[n] for n in ("id", "step", "before")}
        before = {n: a for n, a in frame.arrays.items() if n.startswith("before")}
        asked = {n: a * 0.99 for n, a in last.arrays.items() if not n.startswith("before")}
        return Frame({**last.header, **kept}, {**asked, **before})

    refuses(summary, steps[-1] + 1, tmp_path, again)


@pytest.mark.parametrize("name", ["a narrow variance", "the fit of a crafted mixture"])
def test_without_the_comparison_they_would_be_answered(
    name: str, mixture: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedclust.follow.followed_run.agree", lambda ours, theirs: True)
    monkeypatch.setattr("fedclust.follow.followed_run.pair_numbers", lambda ours, theirs: [])
    attack = MIXTURE[name]
    scene = mixture.before(steps_of(mixture, attack.at)[-1], tmp_path)
    answer = scene.ask(attack.tamper(scene.request))
    assert answer.header["kind"] == "reply", answer.header["why"]


def test_without_the_comparison_any_micro_clusters_would_be_answered(
    summary: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedclust.follow.followed_run.agree", lambda ours, theirs: True)
    monkeypatch.setattr("fedclust.follow.followed_run.pair_numbers", lambda ours, theirs: [])
    scene = summary.before(steps_of(summary, "MicroQuery")[-1], tmp_path)
    answer = scene.ask(one_more(scene.request))
    assert answer.header["kind"] == "reply", answer.header["why"]
