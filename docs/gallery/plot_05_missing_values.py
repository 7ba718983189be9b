"""
Gaps: drop, mean, or partial distances
======================================

A third of the cells of one owner is missing. Dropping rows with gaps leaves most of its rows without a cluster. Filling
with means and partial distances keep them all; partial distances invent no values, and so do not pull the centres of
this owner's rows towards the middle.
"""

import matplotlib.pyplot as plt
import numpy as np

from fedclust import FederatedKMeans

rng = np.random.default_rng(0)
truth = rng.integers(2, size=400)
X = np.array([[0, 0, 0], [3, 3, 3]])[truth] + rng.normal(0, 1.0, (400, 3))
owner = np.repeat(["north", "south"], 200)
gaps = X.copy()
gaps[200:][rng.random((200, 3)) < 0.33] = np.nan

complete = ~np.isnan(gaps).any(axis=1)
filled = np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps)
labels = {
    "drop": FederatedKMeans(2, random_state=0).fit(gaps[complete], clients=owner[complete]).labels_,
    "mean": FederatedKMeans(2, random_state=0).fit(filled, clients=owner).labels_,
    "partial": FederatedKMeans(2, random_state=0, missing="partial")
    .fit(gaps, clients=owner)
    .labels_,
}
right = []
for name, found in labels.items():
    of = truth[complete] if name == "drop" else truth
    right.append(max((found == of).sum(), (found != of).sum()) / len(truth))

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.bar(list(labels), right, color=["#9aa4b2", "#93b3d2", "#1f5f99"])
ax.set(ylim=(0, 1), ylabel="share of all rows with the right cluster")
