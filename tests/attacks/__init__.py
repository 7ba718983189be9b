"""Attacks on our own protection: what a server with a notebook can work out, tier by tier."""
