"""Channel to clients through NVFlare; only this package imports it.

NVFlare provides mutual TLS, certificates, jobs and processes. Its auxiliary requests contain the
bytes of fedclust. A job names the components that send and answer them; these do not depend on
NVFlare.
"""

from importlib.util import find_spec

from ...core import ConfigError

if find_spec("nvflare") is None:
    raise ConfigError("studies across machines need NVFlare: pip install 'fedclust[nvflare]'")

TOPIC = "fedclust"
BODY = "body"  # of a request or reply: bytes
TICKET = "ticket"  # of a request: its copies, and questions about it, have the same
STATE = "state"  # in a request: asks after it; in a reply: what has become of it
HELLO = b""  # only tests whether a client process replies
SITE, STUDY = "site", "study"  # ids of the client's and the server's component
