"""
Federated k-means finds the centres of pooled rows
==================================================

Three owners hold different parts of the data. The federated centres (crosses) lie exactly on the pooled ones (circles).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from fedclust import FederatedKMeans

rng = np.random.default_rng(0)
middle = np.array([[0, 0], [4, 1], [2, 4]])
truth = rng.integers(3, size=300)
X = middle[truth] + rng.normal(0, 0.7, (300, 2))
owner = np.where(rng.random(300) < 0.8, truth, rng.integers(3, size=300))  # mostly one blob each

start = X[:3]
pooled = KMeans(3, init=start, n_init=1).fit(X)
federated = FederatedKMeans(3, init=start).fit(X, clients=owner)

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name in range(3):
    ax.scatter(*X[owner == name].T, s=12, alpha=0.6, label=f"owner {name}")
ax.scatter(*pooled.cluster_centers_.T, s=220, facecolors="none", edgecolors="k", label="pooled")
ax.scatter(*federated.cluster_centers_.T, s=90, marker="x", c="k", label="federated")
ax.legend()
print(np.abs(pooled.cluster_centers_ - federated.cluster_centers_).max())
