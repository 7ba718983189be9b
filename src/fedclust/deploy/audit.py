"""Audits: what left a client, when and under whose approval, in a signed file.

The file is a zip with a page to read, the messages, the decisions and the rules of the client, and
a manifest with their hashes, which the client's identity has signed. The same content always gives
the same bytes. A verifier packs the content again, and therefore sees every byte that differs.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import __version__
from ..client.config import CLIENT_FILE, ClientConfig, read_client_config
from ..client.disclosures import read_disclosures
from ..client.identities import IDENTITY, read_enrolment, read_peers
from ..core import ConfigError, FedclustError
from ..core.codec import one_line
from ..core.files import write_atomically
from ..follow.decisions import Approvals
from ..privacy.crypto import KEY_BYTES, digest, is_signed, signature, signing_public
from .audit_page import write_page
from .kits import read_kit

PAGE, MESSAGES, DECISIONS, RULES = "report.txt", "messages.jsonl", "approvals.jsonl", "rules.json"
_MANIFEST, _SIGNATURE = "manifest.json", "manifest.sig"
_CONTENT = (PAGE, MESSAGES, DECISIONS, RULES)
_LARGEST = 1 << 30  # bytes of an audit
# Of a line of the disclosure log: all that the recipient has, too. Paths of this machine stay.
_PUBLIC = (
    "when",
    "to",
    "client",
    "kind",
    "study",
    "study_hash",
    "run",
    "plan",
    "round",
    "step",
    "verified",
    "what",
    "says",
    "transforms",
    "queries",
    "refused",
    "code",
    "received",
    "bytes",
    "sha256",
)


class AuditError(FedclustError, ValueError):
    """An audit is not as its client signed it."""


@dataclass(frozen=True)
class Audit:
    """What a manifest says."""

    client: str
    federation: str
    made: str  # UTC, ISO 8601
    version: str  # of fedclust
    identity: str  # the public identity that signed it, as hexadecimal digits
    messages: int
    queries: int  # as counted by the ledger
    resets: int  # of the ledger
    files: Mapping[str, str]  # SHA-256 of each file


def export_audit(folder: Path, target: Path) -> Audit:
    """Write the audit of a client's kit into a new file."""
    if target.exists():  # an earlier export, or the client's own data
        raise ConfigError(f"{target} exists already; choose another --out")
    kit = read_kit(folder, "client")
    config = read_client_config(folder / CLIENT_FILE)
    secret = read_enrolment(folder).identity
    if secret is None:
        raise ConfigError(
            f"{folder} has no {IDENTITY} to sign with; make one with 'fedclust client {folder} "
            "--new-identity'"
        )
    lines = [_keep_public(line) for line in read_disclosures(_log_of(config))]
    decisions = [asdict(one) for one in Approvals(folder).decisions()]
    ledger = config.policy().ledger
    made = datetime.now(UTC).isoformat(timespec="seconds")
    public = signing_public(secret).hex()
    content = {
        MESSAGES: _jsonl(lines),
        DECISIONS: _jsonl(decisions),
        RULES: _json({"consent": asdict(config.consent)}),
        PAGE: write_page(kit.name, kit.federation.name, made, public, lines, decisions).encode(),
    }
    audit = Audit(
        client=kit.name,
        federation=kit.federation.name,
        made=made,
        version=__version__,
        identity=public,
        messages=len(lines),
        queries=ledger.n_queries,
        resets=ledger.resets,
        files={name: hashlib.sha256(content[name]).hexdigest() for name in _CONTENT},
    )
    content[_MANIFEST] = _json(asdict(audit))
    content[_SIGNATURE] = signature(secret, _signed(content[_MANIFEST])).hex().encode()
    write_atomically(target, lambda file: file.write(_pack(content)), mode=0o600)
    return audit


def verify_audit(path: Path, identity: str | None = None) -> Audit:
    """The manifest of an audit that is unchanged; raise if it is not, or if another signed it.

    `identity` is a public identity as hexadecimal digits, or the path of a `peers.json`.
    """
    raw = _read(path)
    content = _unpack(path, raw)
    try:
        audit = _read_manifest(content[_MANIFEST])
        public, signed = bytes.fromhex(audit.identity), bytes.fromhex(content[_SIGNATURE].decode())
    except (ValueError, TypeError, RecursionError):
        raise _changed(path, f"{_MANIFEST} or {_SIGNATURE} is damaged") from None
    if not is_signed(public, _signed(content[_MANIFEST]), signed):
        raise _changed(path, f"the signature does not fit {_MANIFEST}")
    for name in _CONTENT:
        if hashlib.sha256(content[name]).hexdigest() != audit.files.get(name):
            raise _changed(path, f"{name} differs from what was signed")
    if _pack(content) != raw:
        raise _changed(path, "it has bytes that were not exported")
    if identity is not None and (expected := _find_identity(identity, audit.client)) != public:
        raise AuditError(
            f"{path}: signed by {audit.identity}, and the identity of {audit.client!r} is "
            f"{expected.hex()}; do not rely on it, and ask the client for its audit"
        )
    return audit


def _read_manifest(raw: bytes) -> Audit:
    """A manifest with the types that it must have; anybody can sign one with an own identity."""
    found = Audit(**json.loads(raw))
    names = ("client", "federation", "made", "version", "identity")
    texts = [getattr(found, name) for name in names]
    numbers = (found.messages, found.queries, found.resets)
    if not all(isinstance(text, str) and text.isprintable() for text in texts):
        raise ValueError("a text")
    if not all(type(number) is int for number in numbers) or not isinstance(found.files, dict):
        raise ValueError("a number")
    return found


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > _LARGEST:
            raise AuditError(f"{path}: too large for an audit")
        return path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}") from None


def _unpack(path: Path, raw: bytes) -> dict[str, bytes]:
    names = [*_CONTENT, _MANIFEST, _SIGNATURE]
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            entries = archive.infolist()
            if [entry.filename for entry in entries] != names:
                raise _changed(path, f"its files are not {', '.join(names)}")
            if sum(entry.file_size for entry in entries) > len(raw):
                raise _changed(path, "it was packed again")
            return {name: archive.read(name) for name in names}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as problem:
        if isinstance(problem, AuditError):
            raise
        raise _changed(path, f"it cannot be unpacked: {one_line(str(problem))}") from None


def _changed(path: Path, why: str) -> AuditError:
    return AuditError(
        f"{path}: not the file that the client exported ({why}); do not rely on it, and ask the "
        "client for it again"
    )


def _find_identity(identity: str, client: str) -> bytes:
    """The public identity in an option: digits, or a peers.json that lists the client."""
    if Path(identity).is_file():
        peers = read_peers(Path(identity))
        if client not in peers:
            raise ConfigError(f"{identity} lists no client {client!r}")
        return peers[client]
    try:
        found = bytes.fromhex(identity)
    except ValueError:
        found = b""
    if len(found) != KEY_BYTES:
        raise ConfigError(
            f"--identity {identity}: give {2 * KEY_BYTES} hexadecimal digits, or a peers.json"
        )
    return found


def _log_of(config: ClientConfig) -> Path:
    return config.place(config.output.disclosures)


def _keep_public(line: Mapping[str, Any]) -> dict[str, Any]:
    return {name: line[name] for name in _PUBLIC if name in line}


def _pack(content: Mapping[str, bytes]) -> bytes:
    """A zip that depends on the content only."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in (*_CONTENT, _MANIFEST, _SIGNATURE):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o100600 << 16
            archive.writestr(entry, content[name])
    return out.getvalue()


def _signed(manifest: bytes) -> bytes:
    """What the client signs; no other use of its identity signs such a text."""
    return digest(b"fedclust audit", manifest)


def _json(value: object) -> bytes:
    return json.dumps(value, indent=1).encode() + b"\n"


def _jsonl(values: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)
