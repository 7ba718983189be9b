"""Pictures of runs and of fitted estimators."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust import ConfigError, FederatedKMeans, run_study
from fedclust.core import ConfigError as CoreError
from fedclust.report import read_run

from ..report.folders import change, write_run

pyplot = pytest.importorskip("matplotlib.pyplot")
plot = pytest.importorskip("fedclust.plot")

RUNS = ["ProfileDisplay", "MapDisplay", "ConvergenceDisplay", "DisclosureDisplay"]


@pytest.fixture(autouse=True)
def close_figures() -> Any:
    yield
    pyplot.close("all")


def ink(figure: Any) -> float:
    """The share of a picture that is not white."""
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
    return float((pixels < 250).any(axis=-1).mean())


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("shape", [{}, {"clusters": 20, "columns": 40}, {"soft": True}])
def test_a_run_is_drawn_into_new_and_into_given_axes(
    tmp_path: Path, name: str, shape: dict[str, Any]
) -> None:
    kind = getattr(plot, name)
    folder = write_run(tmp_path, **shape)
    display = kind.from_run(folder)
    assert ink(display.figure_) > 0.01
    figure, ax = pyplot.subplots()
    given = kind(read_run(folder)).plot(ax)
    assert given.ax_ is ax
    assert given.figure_ is figure


@pytest.mark.parametrize("name", RUNS)
def test_a_fitted_estimator_is_drawn(name: str) -> None:
    rng = np.random.default_rng(0)
    tables = {n: rng.normal([[0, 0], [9, 3]] * 40, 1.0) for n in ("north", "south")}
    model = FederatedKMeans(2, random_state=0).fit(tables)
    assert ink(getattr(plot, name).from_estimator(model, tables).figure_) > 0.005


def test_texts_of_a_profile_stay_inside_the_picture(tmp_path: Path) -> None:
    display = plot.ProfileDisplay.from_run(write_run(tmp_path, clusters=8, columns=12))
    figure = display.figure_
    figure.canvas.draw()
    room = figure.bbox
    for text in [*display.ax_.get_xticklabels(), *display.ax_.get_yticklabels()]:
        box = text.get_window_extent()
        assert box.x0 >= room.x0 - 1
        assert box.x1 <= room.x1 + 1
        assert box.y1 <= room.y1 + 1


def test_evidence_shows_the_indices_that_decide(tmp_path: Path) -> None:
    display = plot.EvidenceDisplay.from_run(write_run(tmp_path, choice=True))
    assert [ax.get_title(loc="left") for ax in display.axes_] == ["Simplified silhouette"]
    with pytest.raises(ConfigError, match="the number of clusters was given"):
        plot.EvidenceDisplay.from_run(write_run(tmp_path / "given"))
    with pytest.raises(ConfigError, match="fit with n_clusters='auto'"):
        plot.EvidenceDisplay.from_estimator(FederatedKMeans(2), np.eye(3))


def test_the_dendrogram_is_cut_into_the_clusters(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tables = {n: rng.normal([[2, 2], [8, 3], [5, 9]] * 40, 0.4) for n in ("a", "b", "c")}
    model = FederatedKMeans("auto", privacy="secure", bounds=(0, 12), random_state=0).fit(tables)
    display = plot.DendrogramDisplay.from_estimator(model, tables)  # as the other displays
    (cut,) = [line.get_ydata()[0] for line in display.ax_.lines]
    branches = [path.vertices for group in display.ax_.collections for path in group.get_paths()]
    crossing = sum(  # branches that go down through the cut
        int(end < cut <= top)
        for (_, first), (_, top), _, (_, last) in branches
        for end in (first, last)
    )
    assert crossing == len(model.cluster_centers_) == 3
    assert model.choice_ is not None
    plain = plot.DendrogramDisplay(model.choice_.summary).plot()
    assert not plain.ax_.lines
    with pytest.raises(ConfigError, match="made no summary"):
        plot.DendrogramDisplay.from_estimator(FederatedKMeans(2))
    with pytest.raises(ConfigError, match="made no summary"):
        plot.DendrogramDisplay.from_run(write_run(tmp_path))
    bounds = {"low": 0, "high": 12}
    columns = {name: {"x": X[:, 0], "y": X[:, 1]} for name, X in tables.items()}
    features = {"x": bounds, "y": bounds}
    done = run_study(columns, tmp_path / "auto", privacy="secure", features=features)
    assert plot.DendrogramDisplay.from_run(done.folder).ax_.lines


def test_what_a_run_does_not_have_is_said(tmp_path: Path) -> None:
    folder = write_run(tmp_path, drawn=False)
    with pytest.raises(CoreError, match="no map"):
        plot.MapDisplay.from_run(folder)
    clusters = read_run(folder).profile.clusters
    bare = [
        {**vars(c), "features": [{**vars(f), "effect": None} for f in c.features]} for c in clusters
    ]
    change(folder, "profile.json", clusters=bare)
    with pytest.raises(CoreError, match="no profile to draw"):
        plot.ProfileDisplay.from_run(folder)
    (folder / "history.jsonl").write_text("")
    display = plot.ConvergenceDisplay.from_run(folder)
    assert "do not record" in display.ax_.texts[0].get_text()
