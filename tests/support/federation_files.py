"""A federation.toml of two clients."""

from pathlib import Path

FEDERATION = """
[federation]
name = "heart"
server = "localhost"
port = 8123
coordinator = "ana@example.org"

[clients]
north = "North clinic"
south = "South clinic"
"""


def written(folder: Path, text: str = FEDERATION) -> Path:
    (folder / "federation.toml").write_text(text)
    return folder / "federation.toml"
