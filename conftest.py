"""What pytest leaves out where an extra is not installed."""

from importlib.util import find_spec

# Modules are imported to look for doctests; these need NVFlare at once.
collect_ignore_glob = [] if find_spec("nvflare") else ["src/fedclust/channels/nvflare/*"]
