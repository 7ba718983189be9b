"""Every way in which a client's settings can be wrong, or forbid what is wanted."""

from collections.abc import Callable
from pathlib import Path

from .kit import IDENTITY, SECRET, settings_text

Damage = Callable[[Path], object]

WORDS = ("platypus", "bandicoot")
SPLIT = "split_columns = true\n"


def settings(consent: str = "", data: str = "", output: str = "", **more: str) -> Damage:
    text = settings_text(SPLIT + consent, data, output, **more)
    return lambda kit: (kit / "client.toml").write_text(text)


def replaced(old: str, new: str) -> Damage:
    return lambda kit: (kit / "client.toml").write_text(settings_text().replace(old, new))


def with_file(name: str, text: str, damage: Damage = lambda kit: None) -> Damage:
    def write(kit: Path) -> None:
        (kit / name).write_text(text)
        damage(kit)

    return write


def with_folder(name: str) -> Damage:
    return lambda kit: (kit / name).mkdir()


def toml_folder(kit: Path) -> None:
    (kit / "client.toml").unlink()
    (kit / "client.toml").mkdir()


def enrolled(kit: Path) -> None:
    (kit / "identity.key").write_text(IDENTITY)


def lost_identity(kit: Path) -> None:
    (kit / "peers.json").write_text("{}")


def dp(epsilon: float) -> str:
    return f'privacy = "dp"\nepsilon = {epsilon}\n'


DEEP = with_file("client.toml", "a = " + "[" * 2_000)

BROKEN: dict[str, Damage] = {
    "no client.toml": lambda kit: (kit / "client.toml").unlink(),
    "client.toml is a folder": toml_folder,
    "client.toml is empty": with_file("client.toml", ""),
    "not TOML": with_file("client.toml", f'[data\nsecret = "{SECRET}"'),
    "not text": lambda kit: (kit / "client.toml").write_bytes(b"\xff\xfe" + SECRET.encode()),
    "a table is a number": with_file("client.toml", "data = 3\n"),
    "unknown key": settings(data='platypus = "bandicoot"'),
    "unknown table": with_file("client.toml", settings_text() + '[platypus]\nx = "bandicoot"\n'),
    "wrong type": settings(consent='max_rounds = "bandicoot"'),
    "wrong value": settings(consent='privacy = "bandicoot"'),
    "unknown algorithm": settings(consent='algorithms = ["bandicoot"]'),
    "dp without epsilon": settings(consent='privacy = "dp"'),
    "short secret": replaced(f'"{SECRET}"', '"bandicoot"'),
    "secret of another type": replaced(f'"{SECRET}"', "881734"),
    "wrong secret": replaced(f'"{SECRET}"', '"another secret platypus"'),
    "no secret": replaced(f'secret = "{SECRET}"', ""),
    "no id": replaced('id = "passport_no"', ""),
    "id is named as a label": replaced('id = "passport_no"', 'id = "cluster"'),
    "damaged ledger": with_file("ledger.jsonl", '{"event": "platypus"\nbandicoot\n'),
    "ledger of other lines": with_file("ledger.jsonl", '{"event": "noise", "cost": "bandicoot"}\n'),
    "ledger is a folder": with_folder("ledger.jsonl"),
    "ledger under a file": settings(output='ledger = "client.toml/platypus.jsonl"'),
    "damaged guard memory": with_file("ledger.released.npz", "bandicoot"),
    "damaged peers": with_file("peers.json", '{"platypus": "bandicoot"}', enrolled),
    "peers are a list": with_file("peers.json", '["platypus"]', enrolled),
    "short peers": with_file("peers.json", '{"platypus": "5ec7"}', enrolled),
    "peers without identity": lost_identity,
    "damaged identity": with_file("identity.key", "bandicoot"),
    "short identity": with_file("identity.key", IDENTITY[:20]),
    "identity is a folder": with_folder("identity.key"),
    "disclosures are a folder": with_folder("disclosures.jsonl"),
    "disclosures under a file": settings(output='disclosures = "client.toml/platypus.jsonl"'),
    "disclosures that cannot be": settings(output='disclosures = "platypus\\u0000.jsonl"'),
    "labels under a file": settings(output='labels = "client.toml"'),
}

FORBIDDING: dict[str, Damage] = {
    "study": settings('studies = ["platypus"]'),
    "author": settings('authors = ["bandicoot@example.org"]'),
    "algorithm": settings('algorithms = ["k-fed"]'),
    "column": settings('columns = ["weight_kg"]'),
    "other column": settings('columns = ["platypus"]'),
    "split columns": lambda kit: (kit / "client.toml").write_text(settings_text("")),
    "batches": settings(data="batch_rows = 7"),
    "rounds": settings("max_rounds = 1"),
    "queries": settings("max_queries = 1"),
    "clusters": settings("max_clusters = 1"),
    "count": settings("min_count = 30"),
    "bins": settings("max_bins = 4"),
    "descriptions": settings("max_descriptions = 1"),
    "tier paper": settings('privacy = "paper"'),
    "tier guarded": settings('privacy = "guarded"'),
    "tier secure": settings('privacy = "secure"'),
    "tier dp": settings(dp(0.001)),
}
