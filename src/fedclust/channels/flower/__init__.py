"""The way to clients through Flower: the only package that imports it.

Flower brings TLS, registered keys, runs and processes. What crosses is fedclust's own bytes, in
messages of two kinds: one asks a SuperNode for its name, the other carries a request.
"""

from importlib.util import find_spec

from ...core import ConfigError

if find_spec("flwr") is None:
    raise ConfigError("studies over Flower need it: pip install 'fedclust[flower]'")

NAME, REQUEST = "name", "request"  # what a message asks for
NAME_KEY, KIT_KEY = "fedclust-name", "fedclust-kit"  # of a SuperNode's --node-config
KITS = "kits"  # of a run's configuration, in a simulation: where the clients' folders are
