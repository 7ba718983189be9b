"""Compiled k-means steps from several solutions at once, for a few rows."""

import numpy as np

from ._tiles import exact


@exact
def rival_steps(X, w, centers, n_solutions, inertia, weight, total):
    """Add each row to its nearest centre of every solution, and its squared distance.

    Centres (F, R * C) are in columns, so that one instruction compares a row with several.
    """
    F, n = centers.shape
    k = n // n_solutions
    d = np.empty(n)
    for t in range(len(X)):
        d[:] = 0.0
        for f in range(F):
            x = np.float64(X[t, f])
            for j in range(n):
                e = x - centers[f, j]
                d[j] += e * e
        v = w[t] if len(w) else 1.0
        for r in range(n_solutions):
            label = r * k
            for j in range(r * k + 1, (r + 1) * k):
                if d[j] < d[label]:
                    label = j
            inertia[r] += v * d[label]
            if len(weight):
                weight[label] += v
                for f in range(F):
                    total[label, f] += v * X[t, f]
