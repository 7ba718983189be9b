"""How a study reaches its clients: in this process, or behind a network."""
