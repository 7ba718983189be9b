"""A server over split columns that changes which records the owners share, or where they lie.

Masks hide an owner's distances in the sum of all owners. If anything that the server chooses
changes the distances of one owner alone, the difference of two sums is that owner's. Two columns of
it differ by a linear function of the owner's only column.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from fedclust.algorithms.record_alignment import RecordAlignment
from fedclust.algorithms.vertical_seeding import DistanceSeeding, SeedState
from fedclust.channels import RemoteChannel
from fedclust.client.endpoint import ClientEndpoint
from fedclust.client.identities import IDENTITY, PEERS, write_peers, write_secret
from fedclust.follow.endpoint import FollowingEndpoint
from fedclust.follow.relay import RelayPool, StudyText
from fedclust.follow.transcript import Transcript
from fedclust.privacy.crypto import fresh_secret, signing_public
from fedclust.study.pool import RemotePool
from fedclust.study.read import read_study
from fedclust.study.run import carry_out
from fedclust.study.run_directory import RunDirectory
from fedclust.typing import Array, BoolArray, FloatArray

from ..support.in_process import InProcess
from ..support.owners_in_process import SECRET

DRAWN = np.array([3, 8])  # records to which the server asks distances
FAR = 1  # records that the server leaves out: the farthest
STUDY = """
[clients]
{clients}
[data]
split = "columns"
id = "customer"
{data}
[clustering]
algorithm = "lossless"
n_clusters = 3
[privacy]
tier = "secure"
[features]
{features}
[outputs]
labels = "none"
report = false
"""


class Owners:
    """Kits of owners that follow studies, and a server that records sums of distances."""

    def __init__(self, folder: Path, columns: Mapping[str, FloatArray]) -> None:
        self.folder = folder
        self.names = {o: [f"{o}{i}" for i in range(X.shape[1])] for o, X in columns.items()}
        secrets = {owner: fresh_secret() for owner in columns}
        for owner, X in columns.items():
            kit = folder / owner
            kit.mkdir(parents=True)
            lines = [",".join(["customer", *self.names[owner]])]
            cells = [["" if np.isnan(v) else repr(v) for v in row] for row in X.tolist()]
            lines += [",".join([f"p{i}", *row]) for i, row in enumerate(cells)]
            (kit / "people.csv").write_text("\n".join(lines) + "\n")
            (kit / "client.toml").write_text(
                f'[data]\nfile = "people.csv"\nid = "customer"\nsecret = "{SECRET}"\n'
                '[consent]\nsplit_columns = true\nprivacy = "secure"\n'
            )
            write_secret(kit / IDENTITY, secrets[owner])
            write_peers(kit / PEERS, {o: signing_public(s) for o, s in secrets.items()})
        self.sites: dict[str, ClientEndpoint] = {
            owner: FollowingEndpoint(folder / owner, owner, "s") for owner in columns
        }
        self._runs = 0

    def ask(
        self,
        kept: BoolArray | None = None,
        *,
        features: Mapping[str, str] | None = None,
        data: str = "",
    ) -> FloatArray:
        """Summed distances of the kept records to the drawn ones, over some of the columns.

        `features` are the columns of the study and what it says of them.
        """
        self._runs += 1
        listed = features or {n: "{}" for names in self.names.values() for n in names}
        path = self.folder / f"{self._runs}" / "s.toml"
        path.parent.mkdir()
        text = STUDY.format(
            clients="\n".join(f'{owner} = "people.csv"' for owner in self.sites),
            data=data,
            features="\n".join(f"{name} = {words}" for name, words in listed.items()),
        )
        path.write_text(text)
        with crafting(kept) as seen:
            self._follow(path)
        return seen[0]

    def _follow(self, path: Path) -> None:
        run, owners = f"{self._runs:016x}", tuple(self.sites)
        remote = RemoteChannel(
            InProcess(self.sites), run=run, about={"study": "s"}, quorum=len(owners), deadline=0.1
        )
        study = read_study(path, files=False)
        transcript = Transcript(path.with_name("transcript"))
        words = StudyText(study, path.read_text())
        RelayPool(remote, owners, words, run, transcript, approval_wait=0.0).open()
        place = RunDirectory(study, path.with_name("run"), force=False, resume=False)
        carry_out(study, RemotePool(remote, owners), place)


@contextmanager
def crafting(kept: BoolArray | None) -> Iterator[list[FloatArray]]:
    """A server that keeps some shared records, draws the same ones always, and notes the sums."""
    seen: list[FloatArray] = []
    share, step = RecordAlignment.model, DistanceSeeding.server_step

    def some(algorithm: Any, state: Any) -> Array:
        shared = share(algorithm, state)
        return shared if kept is None else np.ascontiguousarray(shared[kept])

    def note(algorithm: Any, state: Any, merged: Any, rng: Any) -> SeedState:
        seen.append(np.asarray(merged.d2, dtype=float))
        return step(algorithm, state, merged, rng)

    def begin(algorithm: Any, n: int, rng: Any) -> SeedState:
        drawn = DRAWN if kept is None else np.cumsum(kept)[DRAWN] - 1
        return SeedState(np.empty(0, int), np.broadcast_to(np.inf, n), drawn)

    with (
        patch.object(RecordAlignment, "model", some),
        patch.object(DistanceSeeding, "begin", begin),
        patch.object(DistanceSeeding, "server_step", note),
    ):
        yield seen


def leave_out_the_farthest(D: FloatArray) -> BoolArray:
    """All records but those that are farthest from the drawn ones."""
    far = np.argsort(-D.min(axis=1))[:FAR]
    kept = np.ones(len(D), dtype=bool)
    kept[np.setdiff1d(far, DRAWN)] = False
    return kept


def recovered(E: FloatArray, truth: FloatArray) -> float:
    """Share of values found exactly, up to sign, shift and scale, whichever record each is of."""
    found, wanted = E[:, 1] - E[:, 0], np.sort(truth)
    if np.ptp(found) < 1e-9:
        return 0.0
    best = 0.0
    for sign in (1.0, -1.0):
        guess = np.sort(sign * found)
        slope, shift = np.polyfit(guess, wanted, 1)
        error = np.abs(slope * guess + shift - wanted)
        best = max(best, float((error < 1e-6 * np.ptp(truth)).mean()))
    return best
