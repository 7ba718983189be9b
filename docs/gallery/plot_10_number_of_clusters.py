"""
The bend in the inertia
=======================

The inertia falls steeply up to the true number of clusters, and slowly after it. On real data the bend is rarely so
clear. `n_clusters = "auto"` in a study looks for a number that is stable and well separated instead.
"""

import matplotlib.pyplot as plt
import numpy as np

from fedclust import FederatedKMeans

rng = np.random.default_rng(0)
middle = np.array([[0, 0], [5, 0], [0, 5], [5, 5]])
X = middle[rng.integers(4, size=400)] + rng.normal(0, 0.6, (400, 2))
owner = rng.integers(3, size=400)
ks = range(1, 9)
inertia = [FederatedKMeans(k, random_state=0).fit(X, clients=owner).inertia_ for k in ks]

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.semilogy(list(ks), inertia, marker="o")
ax.axvline(4, color="lightgrey", zorder=0)
ax.set(xlabel="number of clusters", ylabel="inertia")
