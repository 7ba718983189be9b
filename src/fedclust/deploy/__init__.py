"""A study across machines: kits, clients that answer, and the run that asks them."""
