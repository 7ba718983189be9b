"""
Scaling without pooling
=======================

`FederatedStandardScaler` learns mean and spread of all rows from sums. Without it, the column with the largest numbers
decides alone.
"""

import matplotlib.pyplot as plt
import numpy as np

from fedclust import FederatedKMeans, FederatedStandardScaler

rng = np.random.default_rng(0)
truth = rng.integers(2, size=300)
X = np.column_stack([rng.normal(truth * 4, 1), rng.normal(50_000, 20_000, 300)])
owner = rng.choice(["north", "south"], 300)
scaled = FederatedStandardScaler().fit(X, clients=owner).transform(X)

fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
for ax, rows, title in zip(axes, (X, scaled), ("as it is", "scaled"), strict=True):
    labels = FederatedKMeans(2, random_state=0).fit(rows, clients=owner).labels_
    ax.scatter(X[:, 0], X[:, 1], c=[f"C{k}" for k in labels], s=10)
    ax.set(title=title, xlabel="years", ylabel="income")
