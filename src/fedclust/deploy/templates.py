"""What is written into kits for the people who get them."""

from ..data import known_formats
from .federation_file import Federation


def client_toml(name: str) -> str:
    """A client.toml to be filled in: what is opened, what is allowed, where results go."""
    *names, last = (format.name for format in known_formats())
    listed = f"{', '.join(names)} or {last}"
    return f"""\
# What client {name!r} opens and allows. Only this file decides: nothing that comes over the network
# can change it. Paths are relative to this file.

[data]
file = "data.csv"            # {listed}; or a glob such as "data/*.parquet"
# id = "patient"             # a column that names records: never a feature, never sent
# secret = "..."             # split columns: what all owners share, 16 characters or more

[consent]
# studies = ["heart"]        # names of studies that may be run; without it: any
# authors = ["ana@uni.org"]  # who may ask, as in their certificate; without it: any
# algorithms = ["llf-fcm"]   # what may be computed; without it: all there is
# columns = ["age", "bmi"]   # columns that may be used; without it: all but the id
# min_count = 5              # records that must stand behind whatever is sent
# privacy = "secure"         # the least tier a study must have
# split_columns = true       # studies over split columns: they tell distances between your rows
# max_rounds = 1000          # most rounds that are answered in one job
# max_queries = 1000        # most questions about these data, over all studies: ledger.jsonl

[output]
labels = "labels"                     # clusters of your own rows are written here
disclosures = "disclosures.jsonl"     # every message that left, a line each
"""


def client_letter(name: str, federation: Federation) -> str:
    """To the person who runs a client."""
    f = federation.settings
    return f"""\
# Kit of client {name!r} ({federation.clients[name]}) in the federation {f.name!r}

You run one program. It connects **out** to `{f.server}`, port {f.port}; no port is opened
at your side. It is known by the certificate in `startup/`, and knows the server by its; both sides
check (mutual TLS). Keep `startup/client.key` and `identity.key` secret: whoever has them can answer
in your name.

1. Install, with Python 3.11 or newer, on Linux: `pip install "fedclust[nvflare]"`.
2. Unpack this folder anywhere, for the user who will run it, and put your file where `client.toml`
   says (or change it).
3. Read `client.toml` and set what you allow. Nothing that comes over the network can change it.
4. `fedclust doctor .` looks whether all is in place.
5. `fedclust client .` runs in the foreground until you end it (Ctrl-C).

`peers.json` has the public identities of all clients: your sums are hidden only among them. When a
client joins you get a new `peers.json` from the coordinator; put it in the place of the old one.
`fedclust doctor .` shows its fingerprint: read it to the other clients' people over the telephone,
it must be the same everywhere. Whoever made this kit could know your `identity.key`; if they
must not, `fedclust client . --new-identity` makes one that only you know, and says what to do next.

Certificates last 360 days; from 30 days before the end, `fedclust doctor .` and `fedclust client .`
tell you to ask for a renewal: a zip that you unpack over this folder.

What leaves is numbers: sums, counts and centres. A sum may be of one record unless the study masks
it or adds noise; `privacy = "secure"` in `client.toml` demands that. Ids leave as keyed hashes, and
only if you allow studies over split columns. Each message is
written to `disclosures.jsonl` **before** it leaves; `fedclust disclosures .` shows them.
No code comes in: a job can only name fedclust's own classes, which you installed
(`local/resources.json`), and nobody can read your files or logs from elsewhere
(`local/authorization.json`). Labels of your rows appear in `labels/`, and stay there.
"""


def server_letter(federation: Federation) -> str:
    """To the person who runs the server."""
    f = federation.settings
    return f"""\
# Kit of the server of the federation {f.name!r}

One port must be reachable from the clients: {f.port} at `{f.server}`, TCP. Everything on it
is mutual TLS: without a certificate of this federation no connection is made.

1. Install, with Python 3.11 or newer, on Linux: `pip install "fedclust[nvflare]"`.
2. Put `server/` and `admin/` beside each other, anywhere.
3. `fedclust server study.toml --kits FOLDER` starts the server, waits for clients, runs the study,
   and stops again. `--resume` continues a run that was interrupted.

Keep `startup/server.key` secret.
"""


def coordinator_letter(federation: Federation) -> str:
    """To the coordinator, who has all kits."""
    names = "\n".join(f"- `clients/{n}.zip` to {words}" for n, words in federation.clients.items())
    return f"""\
# Kits of the federation {federation.settings.name!r}

Hand out, each over a way that nobody else reads:

{names}
- `server/` and `admin/` to whoever runs the server.

`authority/` holds the keys that make certificates: it stays here, and is backed up. To add a
client, add its line to federation.toml and provision again: kits that are there are not touched.

`peers.json` has the clients' public identities, and is in every kit. It holds no secret, but must
not come to clients by way of the server, since it tells them whom to believe instead of the server.
**Whenever it changes, give it to everybody**, to be put into their kits: after a client was added,
or when a client has made an identity of its own and sent you the line that goes in here.

Certificates last 360 days. `fedclust provision federation.toml --renew` makes new ones and, for
each client, `clients/<name>-renewal.zip`.
"""
