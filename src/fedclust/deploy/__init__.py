"""Studies across machines: kits, client processes, and the command that runs a study."""
