"""Measurements of the experiments: each function makes one run with a seed."""
