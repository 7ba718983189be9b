"""A server that asks for anything but the next request of the study."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from fedclust.clustering.preparation import Column, Moments
from fedclust.core import Message, Schema
from fedclust.core.wire import Frame, pack
from fedclust.privacy.crypto import exchange_public, fresh_secret, signature, signing_public
from fedclust.privacy.keyring import offered
from fedclust.typing import IntArray

from ..support.damage import resealed
from ..support.following import tables
from .scenes import Recorded, Scene, is_refused, record_run

pytest.importorskip("cryptography")

ROWS = tables(5)
Tamper = Callable[[Frame], Frame | bytes]
Patch = tuple[Any, str, Any]


class Attack(NamedTuple):
    """A request in place of an honest one, and what else must give way for it to be answered."""

    at: str  # the algorithm or kind of the honest request
    tamper: Tamper
    also: tuple[Patch, ...] = ()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record_run(tmp_path_factory.mktemp("honest"), ROWS)


def header(**changes: Any) -> Tamper:
    return lambda frame: Frame({**frame.header, **changes}, frame.arrays)


def shifted(name: str, by: float) -> Tamper:
    """One value of an array is another."""

    def tamper(frame: Frame) -> Frame:
        array = frame.arrays[name].copy()
        array.flat[0] += by
        return Frame(frame.header, {**frame.arrays, name: array})

    return tamper


def moved_to_a_record(frame: Frame) -> Frame:
    """One cluster at a row that the server suspects."""
    centers = frame.arrays["down.centers"].copy()
    centers[0] = ROWS["c00"][0]
    arrays = {**frame.arrays, "down.centers": centers}
    return Frame(frame.header, arrays)


def crafted_everywhere(frame: Frame) -> Frame:
    """Centres of the server's choice, in the plan and in the broadcast."""
    centers = np.array([[0.4, 0.5], [0.6, 0.5], [0.5, 0.9]])
    return Frame(frame.header, {**frame.arrays, "down.centers": centers, "plan.init": centers})


def with_transform(name: str, **changes: Any) -> Tamper:
    """A setting of a transform is another."""

    def tamper(frame: Frame) -> Frame:
        transforms = deepcopy(frame.header["transforms"])
        for kind, settings in transforms:
            if kind == name:
                settings.update(changes)
        return Frame({**frame.header, "transforms": transforms}, frame.arrays)

    return tamper


def without_transform(name: str) -> Tamper:
    def tamper(frame: Frame) -> Frame:
        kept = [t for t in frame.header["transforms"] if t[0] != name]
        return Frame({**frame.header, "transforms": kept}, frame.arrays)

    return tamper


def before_the_masks(name: str, **settings: Any) -> Tamper:
    """Clients below a threshold would be silent inside the masks."""

    def tamper(frame: Frame) -> Frame:
        given = frame.header["transforms"]
        return Frame({**frame.header, "transforms": [[name, settings], *given]}, frame.arrays)

    return tamper


def with_preparation(name: str, change: Callable[[Any], Any]) -> Tamper:
    def tamper(frame: Frame) -> Frame:
        changed = deepcopy(frame.header)
        form = changed["data"]
        form["preparation"][name] = change(form["preparation"][name])
        return Frame(changed, frame.arrays)

    return tamper


def with_setting(name: str, value: Any) -> Tamper:
    def tamper(frame: Frame) -> Frame:
        settings = {**frame.header["settings"], name: value}
        return Frame({**frame.header, "settings": settings}, frame.arrays)

    return tamper


def smaller_cohort(frame: Frame) -> Frame:
    return Frame({**frame.header, "cohort": frame.header["cohort"][:-1]}, frame.arrays)


def inertia_instead(frame: Frame) -> Frame:
    """A score where the study has a round of clustering."""
    settings = {"n_clusters": 3, "index": "inertia", "fuzzifier": 2.0}
    return Frame({**frame.header, "algorithm": "Evaluation", "settings": settings}, frame.arrays)


def own_keys(frame: Frame) -> Frame:
    """The server poses as all clients but one."""
    transforms = deepcopy(frame.header["transforms"])
    masks = transforms[-1][1]
    masks["roster"] = [
        entry if entry[0] == "c00" else [entry[0], *_offer(masks["run"])]
        for entry in masks["roster"]
    ]
    return Frame({**frame.header, "transforms": transforms}, frame.arrays)


def _offer(run: str) -> list[str]:
    secret, identity = fresh_secret(), fresh_secret()
    public = exchange_public(secret)
    signed = signature(identity, offered(run, public))
    return [public.hex(), signing_public(identity).hex(), signed.hex()]


def moments_instead(frame: Frame) -> Frame:
    """Sums of this client's columns."""
    columns = [asdict(Column(f"x{f}", low=0.0, high=1.0)) for f in range(2)]
    changed = {
        **frame.header,
        "algorithm": "Moments",
        "settings": {"whole_rows": True},
        "transforms": [],
        "data": {"columns": columns},
    }
    kept = {n: a for n, a in frame.arrays.items() if n.startswith("before")}
    down = Moments().broadcast(Moments().start(Schema(2), np.random.default_rng(0)))
    return Frame(changed, {**kept, **{f"down.{n}": a for n, a in down.arrays().items()}})


def other_columns(frame: Frame) -> Frame:
    columns = frame.header["columns"][:1]
    return Frame({**frame.header, "columns": columns}, frame.arrays)


def preflight_instead(frame: Frame) -> Frame:
    columns = [asdict(Column("x0", low=0.0, high=0.5))]
    words = {"columns": columns, "algorithm": "llf-cm", "counts": True, "needs_memory": ""}
    kept = {n: frame.header[n] for n in ("id", "about", "step", "before")}
    arrays = {n: a for n, a in frame.arrays.items() if n.startswith("before")}
    return Frame({**kept, **words, "kind": "preflight"}, arrays)


def crafted_labels(frame: Frame) -> Frame:
    return Frame(frame.header, {**frame.arrays, "centers": frame.arrays["centers"] * 0.5})


ANYWHERE: Patch = (
    "fedclust.privacy.masking.PairwiseMasks",
    "check_others",
    lambda self, transforms: None,
)
ANYBODY: tuple[Patch, ...] = (
    ("fedclust.privacy.masking.PairwiseMasks", "check_cohort", lambda self, context: None),
)
ANY_PLAN: Patch = ("fedclust.client.admission", "allow_plan", lambda *args: None)
ANY_GRID: Patch = ("fedclust.client.admission", "allow_bounds", lambda *args: None)
ANY_COHORT: Patch = ("fedclust.privacy.ledger", "find_conflict", lambda *args: "")


def no_words(message: Message) -> IntArray:
    """A message of any type as zeros."""
    return np.zeros(sum(a.size for a in message.arrays().values()), np.int64)


ANY_TYPE: Patch = ("fedclust.follow.followed_run", "to_words", no_words)

ATTACKS = {
    "centres, a millionth off": Attack("CMeans", shifted("down.centers", 1e-6)),
    "centres, a billionth off": Attack("CMeans", shifted("down.centers", 1e-9)),
    "a centre at a record": Attack("CMeans", moved_to_a_record),
    "centres and start": Attack("CMeans", crafted_everywhere),
    "start of the plan": Attack("CMeans", shifted("plan.init", 1e-6)),
    "another algorithm": Attack("CMeans", inertia_instead),
    "statistics of columns": Attack("CMeans", moments_instead, (ANY_PLAN, ANY_TYPE)),
    "another seed": Attack("CMeans", header(seed=7)),
    "another round": Attack("CMeans", header(round=1)),
    "a wider grid": Attack("CMeans", with_transform("FixedPoint", high=[1.5, 1.0])),
    "a narrow grid": Attack("CMeans", with_transform("FixedPoint", high=[0.9, 1.0]), (ANY_GRID,)),
    "fewer records": Attack("CMeans", with_transform("FixedPoint", max_records=2**20), (ANY_GRID,)),
    "more queries": Attack("CMeans", with_transform("QueryLimit", max_queries=1_000)),
    "no query limit": Attack("CMeans", without_transform("QueryLimit")),
    "no masks": Attack("CMeans", without_transform("PairwiseMasks"), (ANY_PLAN,)),
    "silence of small clients": Attack(
        "CMeans", before_the_masks("MinSamples", samples=30), (ANYWHERE,)
    ),
    "silence of small clusters": Attack(
        "CMeans", before_the_masks("MinCount", count=5), (ANYWHERE,)
    ),
    "a smaller cohort": Attack("CMeans", smaller_cohort, (ANY_COHORT,)),
    "a column of another scale": Attack(
        "CMeans", with_preparation("scale", lambda scale: [2 * v for v in scale]), (ANY_GRID,)
    ),
    "a column of another offset": Attack(
        "CMeans",
        with_preparation("offset", lambda offset: [v - 1e-6 for v in offset]),
        (ANY_GRID,),
    ),
    "missing values filled": Attack("CMeans", with_preparation("fill", lambda fill: [0.5, 0.5])),
    "more rounds": Attack("CMeans", with_setting("max_rounds", 39)),
    "another tolerance": Attack("CMeans", with_setting("tol", 1e-3)),
    "keys of the server": Attack("CMeans", own_keys, ANYBODY),
    "cells of another grid": Attack("CellSeeding", with_setting("cells", 8)),
    "cells along another direction": Attack("CellSeeding", shifted("down.basis", 1e-6)),
    "inertia of crafted centres": Attack("Evaluation", crafted_everywhere),
    "another index": Attack("Evaluation", with_setting("index", "davies-bouldin")),
    "profile of crafted centres": Attack("Profile", crafted_everywhere),
    "shapes along other axes": Attack("ClusterShapes", shifted("plan.axes", 1e-6)),
    "a preflight of other columns": Attack("preflight", other_columns),
    "a preflight with counts": Attack("preflight", header(counts=True)),
    "a preflight in the middle": Attack("CMeans", preflight_instead),
    "labels of a crafted model": Attack("label", crafted_labels),
    "labels with other numbers": Attack("label", header(ids=[3, 4, 5])),
}


def scene_of(attack: Attack, recorded: Recorded, folder: Path) -> Scene:
    return recorded.before(recorded.step(attack.at), folder)


@pytest.mark.parametrize("name", ATTACKS)
def test_no_other_request_is_answered(name: str, recorded: Recorded, tmp_path: Path) -> None:
    attack = ATTACKS[name]
    scene = scene_of(attack, recorded, tmp_path)
    counted = scene.queries()
    answer = scene.ask(attack.tamper(scene.request))
    assert is_refused(answer, "study")
    why, about = answer.header["why"], scene.request.header
    assert f"step {scene.step}" in why
    if about["kind"] == "round":
        assert f"round {about['round']}" in why
    line = scene.logged()
    assert line["refused"] == why
    assert line["code"] == "study"
    assert scene.queries() == counted, "nothing was computed"
    for client in ("c00", "c00"):
        after = scene.ask(scene.request, client)
        assert is_refused(after, "study"), "the study is over here, and stays so"
        scene.restart(client)
    assert not list((tmp_path / "c00").glob("following/*/secret"))
    others = scene.ask(scene.request, "c01")
    assert others.header["kind"] == "reply", "clients that were not asked continue"


@pytest.mark.parametrize("name", ATTACKS)
def test_without_the_comparison_it_would_be_answered(
    name: str, recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attack = ATTACKS[name]
    monkeypatch.setattr("fedclust.follow.followed_run.agree", lambda ours, theirs: True)
    monkeypatch.setattr("fedclust.follow.followed_run.pair_numbers", lambda ours, theirs: [])
    for owner, what, other in attack.also:
        monkeypatch.setattr(f"{owner}.{what}", other)
    scene = scene_of(attack, recorded, tmp_path)
    answer = scene.ask(attack.tamper(scene.request))
    assert answer.header["kind"] == "reply", answer.header["why"]


# Numbers that compare as nothing else does


@pytest.fixture(scope="module")
def fuzzy(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    clustering = "fuzzy = true\nfuzzifier = 1.75\nmax_rounds = 2"
    return record_run(tmp_path_factory.mktemp("fuzzy"), ROWS, clustering=clustering)


@pytest.mark.parametrize("at", ["Profile", "label"])
@pytest.mark.parametrize("number", [b"9e99", b"1e999", b"1.76", b"true"])
def test_a_number_that_is_too_large_for_a_float(
    number: bytes, at: str, fuzzy: Recorded, tmp_path: Path
) -> None:
    """JSON has no infinity, but 1e999 is one to a reader, and it is near any number."""
    scene = fuzzy.before(fuzzy.step(at), tmp_path)
    raw = pack(*scene.request)
    assert raw.count(b'"fuzzifier": 1.75') == 1
    changed = raw.replace(b'"fuzzifier": 1.75', b'"fuzzifier": ' + number)
    if len(changed) > len(raw):  # the length of the header stays
        changed = changed.replace(b'"seed": 0', b'"seed":0', 1).replace(b'"ids": [', b'"ids":[', 1)
    assert len(changed) == len(raw)
    assert is_refused(scene.ask(resealed(changed)), "study")
