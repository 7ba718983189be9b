"""Texts of the README files and of the client.toml in kits."""

from ..data import known_formats
from ..tiers.base import MAX_QUERIES as KIT_QUERIES
from .federation_file import Federation


def client_toml(name: str) -> str:
    """A client.toml to fill in: the data, what the owner allows, and where results go."""
    *names, last = (format.name for format in known_formats())
    formats = f"{', '.join(names)} or {last}"
    return f"""\
# Settings of client {name!r}: the data it opens and the requests it answers. Nothing that comes
# over the network can change this file. Paths are relative to this file.

[data]
file = "data.csv"            # {formats}; or a glob such as "data/*.parquet"
# id = "patient"             # column that identifies records; never a feature, never sent
# decimal = ","              # how text files and sheets are read is detected, and shown by
#                            # `fedclust doctor .`; docs/files.md lists the keys that set it
# secret = "..."             # split columns: secret shared by all owners, at least 16 characters

[consent]
# studies = ["heart"]        # names of allowed studies; default: any
# authors = ["ana@uni.org"]  # allowed authors, as in their certificate; default: any
# algorithms = ["llf-fcm"]   # allowed clustering algorithms; default: all
# columns = ["age", "bmi"]   # columns that may be used; default: all except the id
privacy = "secure"           # minimum tier of a study: masks, with or without noise. "none" also
#                            # allows studies whose server sees the sums of your rows alone, and can
#                            # choose what it asks
max_queries = {KIT_QUERIES}             # maximum number of queries to these data, over all studies:
#                            # each one shows a little more about your rows
# max_clusters = 10          # maximum number of clusters: the fewer rows a cluster has, the more
#                            # single rows can be learned from totals over all clients
# min_count = 5              # algorithms that are not lossless: minimum number of records behind a
#                            # number; sums of lossless algorithms may be of one record
# split_columns = true       # allow split columns; such studies reveal distances between rows, and
#                            # need more queries, such as max_queries = 1000
# approval = "ask"           # you decide about every study: fedclust approve .
# max_rounds = 1000          # maximum number of rounds in one job

[bounds]                     # split columns: low and high of your columns, which scale them; split
# income = [0, 200_000]      # rows: no value counts beyond them where a study estimates bounds

[output]
labels = "labels"                     # folder for the cluster labels of your own rows
disclosures = "disclosures.jsonl"     # log of every message that left, one line each
"""


def client_readme(name: str, federation: Federation) -> str:
    """README of a client's kit."""
    f = federation.settings
    return f"""\
# Kit of client {name!r} ({federation.clients[name]}) in the federation {f.name!r}

You run one program. It makes an **outgoing** connection to `{f.server}`, port {f.port}; no port is
opened on your side. The connection uses mutual TLS: the certificates in `startup/` identify your
client to the server, and the server to your client. Keep `startup/client.key` and `identity.key`
secret: anyone who has them can answer in your name.

1. Install, with Python 3.11 or newer, on Linux: `pip install "fedclust[nvflare]"`.
2. Unpack this folder as the user who will run the client. Put your data file where `client.toml`
   says, or change the path there.
3. Read `client.toml` and set what you allow. Nothing that comes over the network can change it.
4. `fedclust doctor .` checks that everything is in place.
5. `fedclust client .` runs in the foreground until you stop it (Ctrl-C).

`fedclust approve .` shows in words what a study does with your data, and asks whether your client
may take part. Set `approval = "ask"` in `client.toml` to decide about every study.

`peers.json` contains the public identities of all clients. With secure tiers your sums are hidden
only among these clients. When a client joins, the coordinator sends you a new `peers.json`; replace
the old one with it. `fedclust doctor .` shows the fingerprint of this file. Compare it with the
other clients by telephone: it must be the same everywhere. The person who made this kit could know
your `identity.key`. If that is not acceptable, `fedclust client . --new-identity` makes a key that
only you know, and explains the next step.

Certificates are valid for 360 days. During the last 30 days, `fedclust doctor .` and
`fedclust client .` remind you to ask for a renewal: a zip file that you unpack over this folder.

Only numbers leave: sums, counts and centres. `client.toml` requires masks for them
(`privacy = "secure"`) and allows {KIT_QUERIES} queries to your data, over all studies. Without
masks a study is refused until you change `privacy`: a sum can be that of a single record, unless
noise is added (`dp`). For data about people, `secure+dp` is recommended.
Ids leave only as keyed hashes, and only if you allow studies over split columns. Each message is
written to `disclosures.jsonl` **before** it leaves; `fedclust disclosures .` shows the log. No code
comes in: a job can only name classes of the fedclust that you installed (`local/resources.json`),
and your files and logs cannot be read from outside (`local/authorization.json`). The labels of your
rows are written to `labels/`, and stay there.
"""


def server_readme(federation: Federation) -> str:
    """README of the server's kit."""
    f = federation.settings
    return f"""\
# Kit of the server of the federation {f.name!r}

Clients must be able to reach one port: {f.port} at `{f.server}`, TCP. All connections use mutual
TLS: a connection without a certificate of this federation is rejected.

1. Install, with Python 3.11 or newer, on Linux: `pip install "fedclust[nvflare]"`.
2. Put `server/` and `admin/` into the same folder.
3. `fedclust server study.toml --kits FOLDER` starts the server, waits for clients, runs the study,
   and stops the server. `--resume` continues an interrupted run.

Keep `startup/server.key` secret.
"""


def coordinator_readme(federation: Federation) -> str:
    """README for the coordinator, beside all kits."""
    names = "\n".join(f"- `clients/{n}.zip` to {text}" for n, text in federation.clients.items())
    return f"""\
# Kits of the federation {federation.settings.name!r}

Send each kit over a private channel:

{names}
- `server/` and `admin/` to the person who runs the server.

`authority/` contains the keys that sign certificates. Keep it here, and back it up. To add a
client, add its line to federation.toml and run `fedclust provision` again; existing kits do not
change. To refuse a client from now on, run `fedclust revoke federation.toml NAME`.

`peers.json` contains the public identities of the clients, and is part of every kit. It is not
secret, but clients must not receive it through the server: it protects them from a server that
invents clients. **Whenever it changes, send it to all clients**, who replace the file in their
kits. It changes when you add a client, and when a client makes its own identity and sends you the
line to put in here.

Certificates are valid for 360 days. `fedclust provision federation.toml --renew` makes new ones
and, for each client, `clients/<name>-renewal.zip`.
"""
