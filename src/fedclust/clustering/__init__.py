"""Compose plans to a clustering: prepare, seed, cluster, score, choose k."""
