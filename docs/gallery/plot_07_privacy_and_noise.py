"""
What differential privacy costs
===============================

With a smaller epsilon each record is hidden better, and the centres are less certain. With more rows the noise matters less.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from fedclust import FederatedKMeans
from fedclust.tiers import Private

warnings.simplefilter("ignore")  # fedclust warns where noise hides a cluster
rng = np.random.default_rng(0)
truth = np.array([[0.25, 0.25], [0.75, 0.75]])
epsilons = [0.2, 0.5, 1.0, 2.0, 5.0]

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for n in (1_000, 20_000):
    X = np.clip(truth[rng.integers(2, size=n)] + rng.normal(0, 0.06, (n, 2)), 0, 1)
    tables = {str(part): X[part::3] for part in range(3)}
    errors = []
    for epsilon in epsilons:
        model = FederatedKMeans(
            2, privacy=Private(epsilon=epsilon), bounds=([0, 0], [1, 1]), random_state=0
        ).fit(tables)
        found = model.cluster_centers_[model.cluster_centers_[:, 0].argsort()]
        errors.append(np.abs(found - truth).max())
    ax.loglog(epsilons, errors, marker="o", label=f"{n:,} rows")
ax.set(xlabel="epsilon", ylabel="largest error of a centre")
ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons], minor=False)
ax.minorticks_off()
ax.legend()
