"""Implementations of commands that do not run a study: drafts, examples, budgets, simulations."""
