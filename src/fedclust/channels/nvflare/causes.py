"""Why an NVFlare client ended: the engine's log has only text, so causes are found by its words."""

from pathlib import Path

CONSOLE = "console.log"
RUNS_ELSEWHERE = (
    "this kit runs on another machine, and the server refuses a second one; stop the other client, "
    "or wait ten seconds if it has just been stopped"
)
_CAUSES = (
    ("Client '{name}' runs elsewhere", RUNS_ELSEWHERE),
    (
        "Client '{name}' is disabled",
        "the server refuses this kit, because the coordinator revoked it; ask for a kit with "
        "another name",
    ),
)


def log_size(kit: Path) -> int:
    """Size of a kit's log, to find later what was added."""
    path = kit / CONSOLE
    return path.stat().st_size if path.exists() else 0


def find_cause(kit: Path, name: str, start: int) -> str | None:
    """The cause that the log names from this position on; None if it names none that is known."""
    path = kit / CONSOLE
    if not path.exists():
        return None
    text = path.read_bytes()[start:].decode(errors="replace")
    for words, cause in _CAUSES:
        if words.format(name=name) in text:
            return cause
    return None
