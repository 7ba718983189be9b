"""
Owners of columns
=================

A bank and a shop know different things about the same people. Neither sees three groups alone.
"""

import matplotlib.pyplot as plt
import numpy as np

from fedclust import VerticalKMeans

rng = np.random.default_rng(0)
group = np.repeat([0, 1, 2], 60)
bank = np.array([0.0, 3.0, 3.0])[group][:, None] + rng.normal(0, 0.5, (180, 1))
shop = np.array([0.0, 0.0, 3.0])[group][:, None] + rng.normal(0, 0.5, (180, 1))
model = VerticalKMeans(3, random_state=0).fit([bank, shop])

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.scatter(bank, shop, c=[f"C{k}" for k in model.labels_], s=14)
ax.set(xlabel="what the bank knows", ylabel="what the shop knows")
