"""The work behind commands that are no part of a study: drafts, examples, budgets."""
