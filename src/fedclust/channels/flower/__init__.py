"""Channel to clients through Flower; only this package imports it.

Flower provides TLS, registered keys, runs and processes. Its messages contain the bytes of
fedclust. There are two kinds: one queries the name of a SuperNode, the other carries a request.
"""

from importlib.util import find_spec

from ...core import ConfigError

if find_spec("flwr") is None:
    raise ConfigError("studies over Flower need it: pip install 'fedclust[flower]'")

NAME, REQUEST = "name", "request"  # kinds of messages
NAME_KEY, KIT_KEY = "fedclust-name", "fedclust-kit"  # keys in a SuperNode's --node-config
KITS = "kits"  # key in a run's configuration: folder of all client kits, in a simulation
