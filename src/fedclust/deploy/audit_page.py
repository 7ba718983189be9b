"""The page of an audit: for a data-protection officer, as plain text."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..core.codec import one_line

Lines = Sequence[Mapping[str, Any]]
_PROTECTIONS = {
    "FixedPoint": "numbers on a grid that all clients share",
    "PairwiseMasks": "masks, which only cancel in the total of all clients",
    "IntegerGaussian": "noise (differential privacy)",
    "GroupedRows": "averages of groups of rows in place of rows",
    "MinCount": "clusters with few records withheld",
    "MinSamples": "no reply about few records",
    "QueryLimit": "a limit on the number of queries",
}
_MINUTE = len("2026-01-31T12:00")


def write_page(
    client: str, federation: str, made: str, identity: str, lines: Lines, decisions: Lines
) -> str:
    """Totals by study: what left, when, to whom, and under whose approval."""
    sent = [line for line in lines if "refused" not in line]
    size = sum(int(line["bytes"]) for line in sent)
    text = [
        f"What left the client {client!r} of the federation {federation!r}",
        f"Exported {_minute(made)} UTC. Signed by the identity {identity}.",
        "",
        f"Replies that left this client: {len(sent):,}, with {size:,} bytes. "
        f"Requests that it refused: {len(lines) - len(sent):,}.",
        "Rows, ids and labels did not leave. A reply has sums, counts, centres, or codes of "
        "problems.",
        "",
    ]
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for line in lines:
        groups[str(line.get("study", "")), str(line.get("study_hash", ""))].append(line)
    for (study, hash), group in groups.items():
        text += [*_describe_study(study, hash, group, decisions), ""]
    text += [
        "messages.jsonl has every message with its time and SHA-256, approvals.jsonl the decisions",
        "of the owner, and rules.json what client.toml allows today. To check that nobody has",
        "changed this file: fedclust audit --verify FILE --identity peers.json",
    ]
    return "\n".join(map(one_line, text)) + "\n"


def _describe_study(study: str, hash: str, group: Lines, decisions: Lines) -> Iterable[str]:
    sent = [line for line in group if "refused" not in line]
    yield f"Study {study!r}" if study else "Requests that name no study"
    if hash:
        yield f"  hash: {hash}"
    yield f"  approval: {_describe_approval(hash, decisions)}"
    yield f"  from {_minute(group[0]['when'])} to {_minute(group[-1]['when'])} UTC"
    yield f"  to: {', '.join(sorted({str(line['to']) or 'unnamed' for line in group}))}"
    yield f"  replies: {len(sent):,}, {sum(int(line['bytes']) for line in sent):,} bytes"
    kinds = sorted({str(line.get("plan", line.get("kind", ""))) for line in sent})
    if kinds:
        yield f"  about: {', '.join(kinds)}"
    if protections := sorted({str(t) for line in sent for t in line.get("transforms", ())}):
        yield f"  protected by: {'; '.join(dict.fromkeys(map(_describe_protection, protections)))}"
    if len(sent) < len(group):
        reasons = sorted({str(line["refused"]) for line in group if "refused" in line})
        yield f"  refused: {len(group) - len(sent):,} ({'; '.join(reasons)})"


def _describe_protection(text: str) -> str:
    """A transform in words; messages.jsonl has it with all its settings."""
    return _PROTECTIONS.get(text.partition("(")[0], text)


def _describe_approval(hash: str, decisions: Lines) -> str:
    about = [one for one in decisions if hash and one["hash"] == hash]
    if not about:
        return "the rules of client.toml (rules.json); nobody decided about this study"
    return "; ".join(
        f"{one['decision']} by {one['by']}, {_minute(one['when'])} UTC" for one in about
    )


def _minute(when: object) -> str:
    return str(when)[:_MINUTE].replace("T", " ")
