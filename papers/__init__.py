"""The papers' experiments, compared with their published values: ``python -m papers``."""
