"""What a fit reports while it runs, and how a fit continues an earlier one."""

import logging
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from fedclust import ConfigError, FederatedFuzzyCMeans, FederatedKMeans, VerticalKMeans
from fedclust.estimators import FitRound, _progress

from .row_owners import owners, rows

KINDS = [FederatedKMeans, FederatedFuzzyCMeans]


@pytest.mark.parametrize("kind", [*KINDS, VerticalKMeans])
def test_a_callback_sees_every_round(kind: Any) -> None:
    seen: list[FitRound] = []
    model = kind(3, random_state=0, callback=seen.append).fit(rows())
    clustering = [one for one in seen if one.step == "clustering"]
    assert [one.round for one in clustering] == list(range(1, model.n_rounds_ + 1))
    for one, line in zip(clustering, model.history_, strict=True):
        assert (one.bytes_up, one.n_clients) == (line["bytes_up"], line["n_clients"])
        np.testing.assert_equal(one.shift, line["shift"])
    assert seen[0].step == "start"
    silent = kind(3, random_state=0).fit(rows())
    np.testing.assert_array_equal(model.labels_, silent.labels_)


def test_an_exception_of_a_callback_ends_the_fit() -> None:
    def stop(one: FitRound) -> None:
        if one.step == "clustering":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        FederatedKMeans(3, callback=stop).fit(rows(), clients=owners())


def test_verbose_prints_and_the_log_has_every_round(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "fedclust.estimators")
    model = FederatedKMeans(3, verbose=1, random_state=0).fit(rows(), clients=owners())
    lines = capsys.readouterr().out.splitlines()
    rounds = "1 round" if model.n_rounds_ == 1 else f"{model.n_rounds_} rounds"
    assert lines[-1] == f"[FederatedKMeans] converged after {rounds}"
    first = next(line for line in lines if "clustering" in line)
    assert first.startswith("[FederatedKMeans] clustering, round 1 of at most 300: 3 clients, shi")
    assert [r.getMessage() for r in caplog.records] == [
        line.replace("[", "", 1).replace("]", ":", 1) for line in lines
    ]
    assert {r.levelname for r in caplog.records[:-1]} == {"DEBUG"}
    FederatedKMeans(3, random_state=0).fit(rows(), clients=owners())
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("name", "value"), [("verbose", -1), ("verbose", "yes"), ("callback", 3)])
def test_other_values_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        FederatedKMeans(3, **{name: value}).fit(rows())


def test_the_first_compilation_is_announced_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    event = pytest.importorskip("numba.core.event")
    monkeypatch.setattr(_progress, "_noted", False)
    with _progress.noted_compilation():
        for _ in range(2):
            with event.trigger_event("numba:compile"):
                pass
    with _progress.noted_compilation(), event.trigger_event("numba:compile"):
        pass
    (note,) = caplog.records
    assert "once for this installation" in note.getMessage()


@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_start_continues_and_keeps_the_numbers(kind: Any) -> None:
    model = kind(3, random_state=0, warm_start=True).fit(rows(), clients=owners())
    before = model.cluster_centers_
    model.fit(rows(), clients=owners())
    np.testing.assert_allclose(model.cluster_centers_, before, atol=1e-3)
    assert (model.n_start_rounds_, model.n_rounds_ <= 3) == (0, True)
    largest = rows()[model.labels_ == 0]
    fewer = np.vstack([rows()[model.labels_ != 0], largest[:5]])
    model.fit(fewer)  # cluster 0 is now the smallest, and still cluster 0
    assert np.bincount(model.labels_).argmin() == 0
    fresh = clone(model).fit(fewer)
    assert np.bincount(fresh.labels_).argmin() == 2


def test_a_warm_start_with_other_clusters_or_features_is_refused() -> None:
    model = FederatedKMeans(3, random_state=0, warm_start=True).fit(rows())
    with pytest.raises(ConfigError, match="3 clusters of 2 features, this one 4 of 2"):
        model.set_params(n_clusters=4).fit(rows())
    with pytest.raises(ConfigError, match="this one 3 of 1"):
        model.set_params(n_clusters=3).fit(rows()[:, :1])
