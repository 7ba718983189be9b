"""
Penguins of three islands
=========================

Each island sees its own birds only. The clusters are almost the three species.
"""

import matplotlib.pyplot as plt
import numpy as np

from fedclust import FederatedKMeans
from fedclust.datasets import load

birds = load("penguins")
low, high = np.array([30, 13, 170, 2500]), np.array([60, 22, 235, 6500])
X = (birds.X - low) / (high - low)
islands = np.array(birds.client_names)[birds.client]
model = FederatedKMeans(3, random_state=0).fit(X, clients=islands)

fig, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained", sharex=True, sharey=True)
for ax, name in zip(axes, birds.client_names, strict=True):
    own = islands == name
    ax.scatter(*birds.X[own][:, [0, 2]].T, c=[f"C{k}" for k in model.labels_[own]], s=12)
    ax.set(title=name, xlabel="bill length (mm)")
axes[0].set_ylabel("flipper length (mm)")
