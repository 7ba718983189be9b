"""Plans composed into a clustering: prepare, seed, cluster, score, choose k."""
