"""What totals alone give: more with more clusters, and nothing with noise."""

import pytest

from .followed import Found
from .totals import attack

pytest.importorskip("cryptography")


def test_many_clusters_show_many_records_to_an_honest_server() -> None:
    assert attack("iris", k=20).exact >= 20
    assert attack("iris").exact <= 3


def test_noise_hides_them() -> None:
    pytest.importorskip("opendp")
    assert attack("iris", "secure+dp") == Found(0, 0)
