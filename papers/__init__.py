"""The papers' experiments, run beside their published values: ``python -m papers``."""
