"""
Fuzzy memberships
=================

Between two clusters a row belongs to both. The fuzzifier decides how much.
"""

import matplotlib.pyplot as plt
import numpy as np

from fedclust import FederatedFuzzyCMeans

rng = np.random.default_rng(0)
tables = {"north": rng.normal((0, 0), 0.8, (120, 2)), "south": rng.normal((3, 0), 0.8, (120, 2))}
line = np.column_stack([np.linspace(-2, 5, 200), np.zeros(200)])

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for fuzzifier in (1.3, 1.8, 2.5):
    model = FederatedFuzzyCMeans(2, fuzzifier=fuzzifier, random_state=0).fit(tables)
    left = model.cluster_centers_[:, 0].argmin()
    ax.plot(line[:, 0], model.predict_proba(line)[:, left], label=f"fuzzifier {fuzzifier}")
ax.set(xlabel="from the left cluster to the right one", ylabel="membership in the left one")
ax.legend()
