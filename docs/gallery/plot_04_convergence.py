"""
How the centres settle
======================

`rounds` yields after every round, so a run can be watched, or stopped.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from fedclust import make
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, Schema, rounds

rng = np.random.default_rng(3)
X = rng.normal(size=(400, 2)) + rng.integers(4, size=(400, 1)) * 1.5
clients = LocalChannel({"a": Data.of(X[:150]), "b": Data.of(X[150:])})
plan = Plan(make("llf-cm", 4, init=X[:4]), seed=0)
way = [done.state.centers for done in rounds(plan, clients, Schema(n_features=2))]
moved = [np.abs(b - a).max() for a, b in pairwise(way)]

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.scatter(*X.T, s=6, c="lightgrey")
for cluster in range(4):
    left.plot(*np.array(way)[:, cluster].T, marker=".")
left.set_title("the paths of the centres")
right.semilogy(range(1, len(moved) + 1), np.maximum(moved, 1e-12), marker=".")
right.set(title="how far they moved", xlabel="round")
