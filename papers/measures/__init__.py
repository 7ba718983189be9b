"""What the experiments measure: one function per kind, called once per run with its seed."""
