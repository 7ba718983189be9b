"""Alignment of records by their ids, and the errors for ids that cannot match."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust import ConfigError, DataError
from fedclust.algorithms.record_alignment import RecordAlignment
from fedclust.channels import LocalChannel
from fedclust.clustering.alignment import align
from fedclust.core import Data, Message, Plan, Request, Schema, run
from fedclust.data.ids import hash_ids, read_ids, secret_bytes

SECRET = "only the owners know this"


def shared_ids(*columns: Any, **settings: Any) -> list[list[Any]]:
    """Ids that all owners share, for each owner in the common order."""
    named = {f"o{i}": ("id", c) for i, c in enumerate(columns)}
    rows = align(named, **{"min_overlap": 0.0, **settings}).rows
    return [[c[r] for r in rows[f"o{i}"]] for i, c in enumerate(columns)]


@given(
    st.lists(st.sets(st.integers(0, 40)), min_size=2, max_size=4), st.randoms(use_true_random=False)
)
def test_any_overlap_is_aligned_in_one_order(sets: list[set[int]], random: Any) -> None:
    shared = set.intersection(*sets)
    columns = [random.sample(sorted(s), len(s)) for s in sets]
    if len(shared) < 1:
        with pytest.raises(DataError, match="records are shared by all owners"):
            shared_ids(*columns)
        return
    aligned = shared_ids(*columns)
    assert all(column == aligned[0] for column in aligned)
    assert set(aligned[0]) == shared


def test_hash_and_psi_align_the_same_records() -> None:
    pytest.importorskip("private_set_intersection")
    a, b, c = (np.random.default_rng(s).permutation(60)[:40].tolist() for s in range(3))
    by_hash, by_psi = shared_ids(a, b, c), shared_ids(a, b, c, method="psi")
    assert set(by_hash[0]) == set(by_psi[0]) == set(a) & set(b) & set(c)
    assert by_psi[0] == by_psi[1] == by_psi[2]
    with pytest.raises(DataError, match="only 0 records"):
        shared_ids([1, 2], [3, 4], [1, 2], method="psi")


def test_psi_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "private_set_intersection.python", None)
    with pytest.raises(ConfigError, match=r"pip install 'fedclust\[psi\]'"):
        shared_ids([1, 2], [1, 2], method="psi")


def test_equivalent_spellings_match() -> None:
    assert shared_ids([1, 2, 3], ["3 ", " 1", "2"])[1] in (
        [[" 1", "2", "3 "][i] for i in order]
        for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0])
    )
    assert sorted(shared_ids([1.0, 2.0], ["1", "2"])[0]) == [
        1.0,
        2.0,
    ]  # as pandas reads ids
    assert sorted(shared_ids(["001", "-2"], [1, -2], ids="number")[1]) == [-2, 1]
    assert sorted(shared_ids(["100", "001"], [100, 101])[1]) == [100]  # unambiguous: no shorter ids
    assert shared_ids([b"a", b"b"], ["\ufeffa", "\udcffx"], min_overlap=0.0)[1] == ["\ufeffa"]
    import uuid

    people = [uuid.UUID(int=i) for i in range(3)]
    assert len(shared_ids(people, [str(p) for p in people])[0]) == 3
    assert sorted(shared_ids(["\uff11a", "b"], ["1a", "b"])[1]) == ["1a", "b"]  # full-width digits


@pytest.mark.parametrize(
    ("columns", "settings", "message"),
    [
        (
            (["001", "002", "7"], [1, 2, 7]),
            {},
            "owner 'o0' has 2 of 3 ids with leading zeros, but owner 'o1' has shorter ids without "
            "them; use ids='number'",
        ),
        ((["01", "10"], ["1", "10"]), {}, "owner 'o0' has 1 of 2 ids with leading zeros"),
        (([2.0**60, 1], [1, 2]), {}, "may have been rounded; read the id column as text"),
        (([float("inf"), 1], [1, 2]), {}, "inf is not a valid id"),
        (([[1], [2]], [1, 2]), {}, "must have one id per row"),
        (
            (["1_0", "2"], [1, 2]),
            {"ids": "number"},
            "'1_0' is not an integer",
        ),
        (([1, 2, 1], [1, 2]), {}, "owner 'o0': id column 'id': '1' occurs in rows 0 and 2"),
        ((["a", "a "], ["a", "b"]), {}, "'a' occurs in rows 0 and 1 .*ignoring spaces"),
        (([1, None, 3], [1, 3]), {}, "is missing in 1 rows .first in row 1.; drop them"),
        (([1.0, float("nan")], [1, 3]), {}, "is missing in 1 rows"),
        ((["a", "  "], ["a", "b"]), {}, "is missing in 1 rows"),
        (([1.5, 2], [1, 2]), {}, "row 0: 1.5 is not a valid id"),
        ((["x1", "2"], [1, 2]), {"ids": "number"}, "row 0: 'x1' is not an integer"),
        (([1, 2, 3], [7, 8, 9]), {}, r"only 0 records .*o0 3, o1 3 rows.* same kind of ids"),
        (
            (list(range(100)), list(range(95, 200))),
            {"min_overlap": 0.1},
            "only 5 records are shared by all owners .* min_overlap=0.1 of the smallest",
        ),
    ],
)
def test_ids_that_cannot_be_used_are_refused(columns: Any, settings: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        shared_ids(*columns, **settings)
    assert "\n" not in str(caught.value)


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="alignment must be 'hash' or 'psi'"):
        shared_ids([1, 2], [1, 2], method="magic")
    with pytest.raises(ConfigError, match="ids must be one of 'auto', 'number'"):
        shared_ids([1, 2], [1, 2], ids="digits")
    for share in (-0.1, 1.5, float("nan"), "x"):
        with pytest.raises(ConfigError, match="min_overlap must be a number between 0 and 1"):
            shared_ids([1, 2], [1, 2], min_overlap=share)
    for short in ("short", b"x", 3):
        with pytest.raises(ConfigError, match="secret must be text or bytes of at least 16"):
            shared_ids([1, 2], [1, 2], secret=short)


def test_the_report_says_how_many_rows_of_each_owner_take_part() -> None:
    named = {"bank": ("id", list(range(1000))), "telecom": ("id", list(range(900, 1400)))}
    assert align(named).report() == {
        "bank": "100 of your 1,000 rows take part",
        "telecom": "100 of your 500 rows take part",
    }


def test_only_keyed_hashes_are_sent() -> None:
    sent: list[Message] = []

    class RecordingChannel(LocalChannel):
        def ask(self, plan: Plan, request: Request) -> Any:
            for client, message in super().ask(plan, request):
                sent.append(message)
                yield client, message

    ids = {o: read_ids(v, o, "id") for o, v in {"a": [1, 2, 3], "b": [2, 3, 4]}.items()}
    hashes = {o: hash_ids(i, secret_bytes(SECRET)) for o, i in ids.items()}
    data = {o: Data(h, np.empty(0)) for o, h in hashes.items()}
    shared = run(Plan(RecordAlignment()), RecordingChannel(data, strict=True), Schema(2)).model
    assert len(shared) == 2
    assert {m.nbytes for m in sent} == {3 * 16 + 8}
    other = hash_ids(ids["a"], secret_bytes(SECRET + "!"))
    assert not (other[:, None] == hashes["a"]).all(axis=2).any()  # other secret, other hashes
    with pytest.raises(DataError, match="only 0 records"):  # different secrets never match
        _align_with_two_secrets(ids)


def _align_with_two_secrets(ids: Any) -> None:
    from fedclust.clustering.alignment import check_overlap

    data = {o: Data(hash_ids(i, secret_bytes(SECRET + o)), np.empty(0)) for o, i in ids.items()}
    shared = run(Plan(RecordAlignment()), LocalChannel(data), Schema(2)).model
    check_overlap(len(shared), {o: len(i.text) for o, i in ids.items()}, 0.1)
