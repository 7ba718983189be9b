"""What hostile clients can send that no check of a message notices, by name.

Every message is read as points with weights, whatever its type, so that a lie is written once. The
liars agree on what they say: they share a random seed, and aim at the same corner and cluster.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Flag, auto
from typing import Any, NamedTuple

import numpy as np

from fedclust.channels import LocalChannel
from fedclust.core import Message, Plan, Request
from fedclust.kernels import divide_or_keep, sq_distances
from fedclust.typing import FloatArray, Rng


class Claim(NamedTuple):
    """What a message says: points, how many rows stand for each, and the errors of starts."""

    points: FloatArray  # (P, F)
    weight: FloatArray  # (P,)
    inertia: FloatArray  # (R,) only where starts race
    centers: FloatArray  # (P, F) what the server sent, one for each point; in seeding the points
    rng: Rng  # the same at all liars

    @property
    def corner(self) -> FloatArray:
        """A corner of the unit cube."""
        corner: FloatArray = np.where(np.arange(self.points.shape[1]) % 2 == 0, 0.98, 0.02)
        return corner

    def move(self, points: FloatArray) -> "Claim":
        """The same with other points."""
        return self._replace(points=np.broadcast_to(points, self.points.shape))

    def weigh(self, weight: FloatArray) -> "Claim":
        """The same with other weights, of a point that is not withheld."""
        return self._replace(weight=np.where(self.weight > 0, weight, 0.0))


class Phase(Flag):
    """The parts of a clustering."""

    SEEDING = auto()
    RACE = auto()
    CLUSTERING = auto()
    ALL = SEEDING | RACE | CLUSTERING


@dataclass(frozen=True)
class Lie:
    """A change of a claim, and when it is sent."""

    change: Callable[[Claim], Claim]
    phases: Phase = Phase.ALL
    since: int = 0  # the round from which on it is sent


class Colluding(LocalChannel):
    """Some clients of a channel tell the same lie."""

    def __init__(self, data: Any, liars: tuple[str, ...], lie: Lie) -> None:
        super().__init__(data)
        self._liars, self._lie = liars, lie

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        """The replies; those of liars are changed."""
        for client, message in super().ask(plan, request):
            reported = (
                phase_of(plan, message) & self._lie.phases and request.round >= self._lie.since
            )
            lies = client in self._liars and reported
            yield client, tell(self._lie, request, message) if lies else message


def phase_of(plan: Plan, message: Message) -> Phase:
    """When a message is sent; no phase if it is sent after the clustering."""
    if not hasattr(message, "weight"):
        return Phase(0)
    if plan.purpose != "start":
        return Phase.CLUSTERING
    return Phase.RACE if hasattr(message, "inertia") else Phase.SEEDING


def tell(lie: Lie, request: Request, message: Any) -> Any:
    """The message with another claim."""
    flat = {name: np.asarray(array) for name, array in message.arrays().items()}
    stacked = flat["weight"].ndim == 2  # one row for each client
    flat = {name: array[0] if stacked else array for name, array in flat.items()}
    weight = flat["weight"]
    points = next((flat[name] for name in ("mean", "centers") if name in flat), None)
    if points is None:
        points = divide_or_keep(flat["total"], weight, flat["total"])
    sent = np.asarray(getattr(request.down, "centers", points))
    centers = sent[flat["cluster"]] if "cluster" in flat else sent
    if len(points) == 0:  # starts are compared, and take no step
        centers = points
    rng = np.random.default_rng(request.round)
    said = lie.change(Claim(points, weight, flat.get("inertia", np.empty(0)), centers, rng))
    values: Mapping[str, Any] = {
        "weight": said.weight,
        "inertia": said.inertia,
        "mean": said.points,
        "centers": said.points,
        "total": said.points * said.weight[:, None],
    }
    changed = {name: values[name] for name in flat if name in values}
    return replace(message, **{n: a[None] if stacked else a for n, a in changed.items()})


def _one_corner(claim: Claim) -> Claim:
    return claim.move(claim.corner)


def _other_corner(claim: Claim) -> Claim:
    return claim.move(np.full(claim.points.shape[1], 0.98))


def _far(claim: Claim) -> Claim:
    return claim.move(np.full(claim.points.shape[1], 1e9))


def _farthest(claim: Claim) -> Claim:
    return claim.move(np.full(claim.points.shape[1], 1e200))


def _middle(claim: Claim) -> Claim:
    return claim.move(np.full(claim.points.shape[1], 0.5))


def _one_point(claim: Claim) -> Claim:
    return claim.move(claim.points[:1]) if len(claim.points) else claim


def _shift(by: float) -> Callable[[Claim], Claim]:
    return lambda claim: claim.move(np.clip(claim.points + by, 0, 1))


def _noise(claim: Claim) -> Claim:
    return claim.move(claim.rng.uniform(0, 1, claim.points.shape))


def _mirror(claim: Claim) -> Claim:
    return claim.move(1 - claim.points)


def _swap(claim: Claim) -> Claim:
    """Every cluster's mean is said to be that of another cluster."""
    return claim.move(claim.points[claim.rng.permutation(len(claim.points))])


def _backwards(claim: Claim) -> Claim:
    """As far from the centre as the truth and much more, in the opposite direction."""
    return claim.move(np.clip(claim.centers - 9 * (claim.points - claim.centers), 0, 1))


def _to_neighbours(claim: Claim) -> Claim:
    """Every cluster is said to be where the nearest other one is."""
    if len(claim.centers) < 2:
        return claim
    distance = sq_distances(claim.centers, claim.centers)
    np.fill_diagonal(distance, np.inf)
    return claim.move(claim.centers[distance.argmin(axis=1)])


def _outwards(claim: Claim) -> Claim:
    return claim.move(np.clip(0.5 + 9 * (claim.points - 0.5), 0, 1))


def _heavy(claim: Claim) -> Claim:
    return claim.weigh(claim.weight * 1e6)


def _light(claim: Claim) -> Claim:
    return claim.weigh(claim.weight * 1e-6)


def _one_heavy(claim: Claim) -> Claim:
    """All rows in the cluster that is nearest to the corner."""
    if len(claim.points) == 0:
        return claim
    aim = sq_distances(claim.corner[None], claim.centers)[0].argmin()
    weight = np.full(len(claim.weight), 1e-6)
    weight[aim] = claim.weight.sum() + 1.0
    return claim._replace(weight=weight).move(claim.corner)


def _everywhere_and_heavy(claim: Claim) -> Claim:
    """Weight for every cluster, as much as the heaviest has, and all of it in the corner."""
    most = claim.weight.max(initial=1.0)
    return claim._replace(weight=np.full(len(claim.weight), most)).move(claim.corner)


def _one_target(claim: Claim) -> Claim:
    """The cluster nearest to the corner is said to be where its neighbour is; else the truth."""
    if len(claim.points) < 2:
        return claim
    aim = sq_distances(claim.corner[None], claim.centers)[0].argmin()
    distance = sq_distances(claim.centers[aim][None], claim.centers)[0]
    distance[aim] = np.inf
    points, weight = claim.points.copy(), claim.weight.copy()
    points[aim], weight[aim] = claim.centers[distance.argmin()], weight.max()
    return claim._replace(weight=weight).move(points)


def _new_clusters(claim: Claim) -> Claim:
    """Tight clusters that nobody has, the same at all liars, half of the points in each."""
    F = claim.points.shape[1]
    places = np.random.default_rng(7).uniform(0, 1, (2, F))
    near = places[np.arange(len(claim.points)) % 2]
    return claim.move(near + claim.rng.normal(0, 0.01, claim.points.shape))


def _silence(claim: Claim) -> Claim:
    """Only the first half of the points is sent."""
    weight = claim.weight.copy()
    weight[len(weight) // 2 :] = 0
    return claim._replace(weight=weight)


def _worst_first(claim: Claim) -> Claim:
    """The worse a start, the better it is said to be; and all points in the corner."""
    top = claim.inertia.max(initial=0.0)
    return _one_corner(claim._replace(inertia=1e6 * (top - claim.inertia)))


def _random_race(claim: Claim) -> Claim:
    return claim._replace(inertia=claim.rng.uniform(0, 1e6, claim.inertia.shape))


ABSENT = Lie(lambda claim: claim, Phase(0))  # the liars send nothing, and nobody lies

LIES: Mapping[str, Lie] = {
    "far outside": Lie(_far),
    "as far as numbers go": Lie(_farthest),
    "all in one corner": Lie(_one_corner),
    "all in another corner": Lie(_other_corner),
    "all in the middle": Lie(_middle),
    "copies of one point": Lie(_one_point),
    "noise": Lie(_noise),
    "shifted by 0.02": Lie(_shift(0.02)),
    "shifted by 0.15": Lie(_shift(0.15)),
    "mirrored": Lie(_mirror),
    "clusters swapped": Lie(_swap),
    "opposite step": Lie(_backwards),
    "clusters moved onto neighbours": Lie(_to_neighbours),
    "away from the middle": Lie(_outwards),
    "truth, much heavier": Lie(_heavy),
    "truth, much lighter": Lie(_light),
    "half is withheld": Lie(_silence),
    "one cluster has all rows": Lie(_one_heavy),
    "every cluster heavy, in one corner": Lie(_everywhere_and_heavy),
    "one cluster moved onto its neighbour": Lie(_one_target),
    "two new clusters": Lie(_new_clusters),
    "seeding only: one corner": Lie(_one_corner, Phase.SEEDING),
    "seeding only: two new clusters": Lie(_new_clusters, Phase.SEEDING),
    "race only: worst first": Lie(_worst_first, Phase.RACE),
    "race only: random": Lie(_random_race, Phase.RACE),
    "clustering only: one corner": Lie(_one_corner, Phase.CLUSTERING),
    "all phases: worst first": Lie(_worst_first),
}
