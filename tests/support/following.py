"""Clients that follow a study in this process, behind the bytes that a network would carry."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fedclust.channels import Incident, RemoteChannel
from fedclust.client.identities import IDENTITY, PEERS, write_peers, write_secret
from fedclust.follow.approval import study_hash
from fedclust.follow.endpoint import FollowingEndpoint
from fedclust.follow.relay import RelayPool, StudyText
from fedclust.follow.transcript import Transcript
from fedclust.privacy.crypto import fresh_secret, signing_public
from fedclust.progress import unfinished_folder
from fedclust.study.read import read_study
from fedclust.study.run import Outcome, carry_out
from fedclust.study.run_directory import RunDirectory
from fedclust.study.settings import Study
from fedclust.typing import FloatArray

STUDY = """
[clients]
{clients}
[features]
{features}
[clustering]
algorithm = "lossless"
n_clusters = {k}
{clustering}
[privacy]
tier = "{tier}"
{privacy}
[data]
id = "person"
[outputs]
labels = "csv"
labels_in = "run"
report = false
"""
RUN = "a1b2c3d4e5f60718"


def tables(n_clients: int = 3, n: int = 40, F: int = 2, seed: int = 0) -> dict[str, FloatArray]:
    """Each client's rows, between 0 and 1: three clusters, unevenly held."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(0.2, 0.8, (3, F))
    shares = [np.roll([0.6, 0.3, 0.1], i) for i in range(n_clients)]
    return {
        f"c{i:02d}": np.clip(rng.normal(centers[rng.choice(3, n, p=p)], 0.05), 0, 1)
        for i, p in enumerate(shares)
    }


class Federation:
    """Kits of clients, a study, and a server that relays."""

    def __init__(
        self,
        folder: Path,
        rows: Mapping[str, FloatArray],
        *,
        tier: str = "secure",
        k: int = 3,
        clustering: str = "",
        privacy: str = "",
        consent: str = 'privacy = "secure"',
        one_message: bool = False,
    ) -> None:
        self.folder, self.rows, self._one_message = folder, rows, one_message
        F = next(iter(rows.values())).shape[1]
        identities = {name: fresh_secret() for name in rows}
        for name, table in rows.items():
            kit = folder / name
            kit.mkdir(parents=True)
            lines = [",".join(["person", *(f"x{f}" for f in range(F))])]
            lines += [
                ",".join([f"{name}-{i}", *map(repr, map(float, r))]) for i, r in enumerate(table)
            ]
            (kit / "people.csv").write_text("\n".join(lines) + "\n")
            text = f'[data]\nfile = "people.csv"\nid = "person"\n[consent]\n{consent}\n'
            (kit / "client.toml").write_text(text)
            write_secret(kit / IDENTITY, identities[name])
            write_peers(kit / PEERS, {c: signing_public(s) for c, s in identities.items()})
        text = STUDY.format(
            clients="\n".join(f'{name} = "{name}/people.csv"' for name in rows),
            features="\n".join(f"x{f} = {{ low = 0, high = 1 }}" for f in range(F)),
            k=k,
            clustering=clustering,
            tier=tier,
            privacy=privacy,
        )
        self.path = folder / "s.toml"
        self.path.write_text(text)
        self.sites = self.open_sites()

    def open_sites(self) -> dict[str, FollowingEndpoint]:
        """New processes of all clients, as it were."""
        return {name: self.open_site(name) for name in self.rows}

    def open_site(self, name: str) -> FollowingEndpoint:
        return FollowingEndpoint(self.folder / name, name, "s")

    @property
    def study(self) -> Study:
        return read_study(self.path)

    def pool(
        self,
        transport: Any,
        *,
        run: str = RUN,
        deadline: float = 0.5,
        approval_wait: float = 0.0,
        record: Callable[[Incident], object] = lambda incident: None,
        **opening: Any,
    ) -> RelayPool:
        """The server's side of a run."""
        about = {"study": "s"}
        remote = RemoteChannel(transport, run=run, about=about, deadline=deadline, record=record)
        named = read_study(self.path, files=False)
        text = StudyText(named, self.path.read_text())
        transcript = Transcript(self.folder / f"transcript-{run}")
        opening |= {"approval_wait": approval_wait}
        return RelayPool(remote, tuple(self.rows), text, run, transcript, **opening)

    def run(self, folder: Path, transport: Any = None, **options: Any) -> Outcome:
        """The followed study."""
        pool = self.pool(transport or Sites(self), **options)
        study = replace(read_study(self.path, files=False), clients={})
        unfinished = unfinished_folder(folder).exists()
        place = RunDirectory(study, folder, force=False, resume=unfinished)
        pool.open()
        hash = study_hash(read_study(self.path, files=False))
        done = carry_out(study, pool, place, study_hash=hash)
        pool.close()
        return done


Spoil = Callable[[str, bytes, bytes], "bytes | str"]  # client, request, answer


class Sites:
    """A transport to the sites of a federation; `spoil` does to answers what networks do."""

    def __init__(self, federation: Federation, spoil: Spoil | None = None) -> None:
        self.federation = federation
        self.spoil = spoil or (lambda client, request, answer: answer)
        self.requests: list[bytes] = []

    def clients(self) -> list[str]:
        return list(self.federation.sites)

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        self.requests.append(request)
        for client in reversed(clients):  # the order of replies must not matter
            site = self.federation.sites[client]
            if self.federation._one_message:
                site = self.federation.open_site(client)
            yield client, self.spoil(client, request, site.answer(request, "coordinator"))
