"""The synthetic data sets match the text and files of the papers."""

import numpy as np
import pytest

from fedclust.datasets import (
    Dataset,
    dwf_blobs,
    ffcm_case1,
    ffcm_case2,
    ffcm_case3,
    fkm_grid,
    g2,
    waveform,
)


def count_by_client(data: Dataset) -> list[list[int]]:
    """Rows by client and class."""
    y, client = np.asarray(data.y), np.asarray(data.client)
    counts = np.zeros((client.max() + 1, y.max() + 1), dtype=int)
    np.add.at(counts, (client, y), 1)
    return counts.tolist()  # type: ignore[no-any-return]


def test_ffcm_cases_have_the_papers_sizes() -> None:
    assert count_by_client(ffcm_case1()) == [[333, 333, 333], [333, 333, 333], [500, 500, 0]]
    assert count_by_client(ffcm_case2()) == [[900, 50, 50], [50, 900, 50]]
    assert count_by_client(ffcm_case3((100, 1000, 100))) == [
        [50, 50, 0, 0],
        [0, 500, 500, 0],
        [0, 0, 50, 50],
    ]


@pytest.mark.parametrize("make", [ffcm_case1, ffcm_case2, ffcm_case3, fkm_grid])
def test_rows_lie_around_their_true_centres(make: object) -> None:
    data: Dataset = make(random_state=4)  # type: ignore[operator]
    assert data.centers is not None
    for c, centre in enumerate(data.centers):
        mine = data.X[data.y == c]
        assert np.abs(mine.mean(axis=0) - centre).max() < 5 * mine.std() / np.sqrt(len(mine)) + 0.1


def test_g2_has_integers_in_equal_shares() -> None:
    data = g2(8, 30.0)
    assert data.X.shape == (2048, 8)
    assert (np.floor(data.X) == data.X).all()
    assert set(np.bincount(np.asarray(data.client))) == {204, 205}


def test_the_fkm_grid_is_more_local_for_a_small_beta() -> None:
    def clusters_per_client(beta: float) -> float:
        data = fkm_grid(beta, random_state=1)
        return float(np.mean([(np.array(row) > 0).sum() for row in count_by_client(data)]))

    assert clusters_per_client(0.1) < clusters_per_client(1.0) <= clusters_per_client(10.0) <= 16
    assert len(fkm_grid(points_per_cluster=200).X) == 3200


def test_dwf_blobs_are_the_authors_rows() -> None:
    from sklearn.cluster import KMeans

    data = dwf_blobs()
    assert data.X.shape == (10_100, 2)
    best = KMeans(5, n_init=20, random_state=0).fit(data.X).inertia_ / len(data.X)
    assert round(best, 4) == 0.0743


def test_waveforms_have_three_classes_of_two_triangles() -> None:
    data = waveform(3000)
    assert data.X.shape == (3000, 21)
    means = np.array([data.X[data.y == c].mean(axis=0) for c in range(3)])
    assert means.max() == pytest.approx(5.0, abs=1.2)
    assert np.abs(data.X[:, 0].mean()) < 0.2  # no triangle reaches the first feature
    assert sorted(means.argmax(axis=1).tolist()) != [0, 0, 0]
