"""What pytest leaves out where an extra is not installed."""

from importlib.util import find_spec

# Modules are imported to look for doctests; these need an engine at once.
_NEEDS = {
    "nvflare": ["src/fedclust/channels/nvflare/*"],
    "flwr": ["src/fedclust/channels/flower/*", "src/fedclust/deploy/flower/*"],
}
collect_ignore_glob = [
    pattern for engine, patterns in _NEEDS.items() if not find_spec(engine) for pattern in patterns
]
