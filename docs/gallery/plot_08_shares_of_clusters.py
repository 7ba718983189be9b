"""
Who has which cluster
=====================

Clusters of everybody's data are rarely spread evenly over the owners. One owner alone could not have found the last one.
"""

import matplotlib.pyplot as plt
import numpy as np

from fedclust import FederatedKMeans

rng = np.random.default_rng(1)
share = {"bern": (0.7, 0.3, 0.0), "basel": (0.2, 0.7, 0.1), "zurich": (0.4, 0.2, 0.4)}
middle = np.array([[0, 0], [4, 0], [2, 4]])
tables = {
    name: middle[rng.choice(3, 200, p=p)] + rng.normal(0, 0.5, (200, 2))
    for name, p in share.items()
}
model = FederatedKMeans(3, random_state=0).fit(tables)
counts = np.array([np.bincount(model.labels_of(name), minlength=3) for name in tables])

fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
left = np.zeros(3)
for cluster in range(3):
    ax.barh(list(tables), counts[:, cluster], left=left, label=f"cluster {cluster}")
    left += counts[:, cluster]
ax.set_xlabel("rows")
ax.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
