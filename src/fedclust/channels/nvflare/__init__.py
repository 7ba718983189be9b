"""The way to clients through NVFlare: the only package that imports it.

NVFlare brings mutual TLS, certificates, jobs and processes. What crosses is fedclust's own bytes,
in auxiliary requests; what is asked and answered is decided by components that the job names and
that know nothing of NVFlare.
"""

from importlib.util import find_spec

from ...core import ConfigError

if find_spec("nvflare") is None:
    raise ConfigError("studies across machines need NVFlare: pip install 'fedclust[nvflare]'")

TOPIC = "fedclust"
BODY = "body"  # of a request or reply: bytes
HELLO = b""  # asks only whether somebody is there
SITE, STUDY = "site", "study"  # ids of the components that answer and ask
