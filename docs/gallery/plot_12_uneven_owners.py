"""
Averaging centres is not enough
===============================

Where owners have different clusters, averages of their local centres (squares) land between clusters. Sums (crosses) give
the centres of all rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from fedclust import FederatedKMeans

rng = np.random.default_rng(2)
middle = np.array([[0, 0], [4, 0], [2, 3]])
tables = {
    "a": middle[rng.choice(3, 150, p=[0.9, 0.1, 0.0])] + rng.normal(0, 0.5, (150, 2)),
    "b": middle[rng.choice(3, 150, p=[0.0, 0.2, 0.8])] + rng.normal(0, 0.5, (150, 2)),
}
alone = [FederatedKMeans(3, random_state=0).fit(X) for X in tables.values()]
ordered = [m.cluster_centers_[m.cluster_centers_[:, 0].argsort()] for m in alone]
together = FederatedKMeans(3, random_state=0).fit(tables)

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, X in tables.items():
    ax.scatter(*X.T, s=10, alpha=0.5, label=f"owner {name}")
ax.scatter(*np.mean(ordered, axis=0).T, marker="s", c="firebrick", s=70, label="averaged centres")
ax.scatter(*together.cluster_centers_.T, marker="x", c="k", s=90, label="federated")
ax.legend()
