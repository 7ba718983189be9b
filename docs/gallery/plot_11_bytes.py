"""
What each client sends
======================

The size of a message depends on the numbers of clusters and columns, not on the number of rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from fedclust import FederatedKMeans

rng = np.random.default_rng(0)
sizes = [100, 1_000, 10_000]
sent, raw = [], []
for n in sizes:
    tables = [rng.normal(c, 1, (n, 4)) for c in (0, 3, 6)]
    model = FederatedKMeans(3, random_state=0).fit(tables)
    sent.append(max(model.bytes_sent_.values()))
    raw.append(tables[0].nbytes)

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.loglog(sizes, raw, marker="o", label="the rows themselves")
ax.loglog(sizes, sent, marker="o", label="what a client sends")
ax.set(xlabel="rows of a client", ylabel="bytes")
ax.legend()
