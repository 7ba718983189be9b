"""An audit says what left, and any change to it is seen."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("cryptography", reason="audits are signed")
from fedclust.cli import app
from fedclust.client.identities import renew_identity, write_peers
from fedclust.core import Transform
from fedclust.deploy import audit
from fedclust.deploy.audit import AuditError, export_audit, verify_audit
from fedclust.deploy.audit_page import _PROTECTIONS, write_page
from fedclust.follow.decisions import Approvals
from fedclust.privacy.crypto import signature

from ..support.hostile_server import PLAN, request
from ..support.in_process import FEDERATION, write_kits


def command(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "300"})


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    """A client that has answered one request of study s and refused one."""
    sites = write_kits(tmp_path, 'studies = ["s"]')
    folder = tmp_path / "west"
    about = {"role": "client", "name": "west", "federation": FEDERATION}
    (folder / "fedclust.json").write_text(json.dumps(about))
    public = renew_identity(folder, "west")
    write_peers(folder / "peers.json", {"west": public})
    sites["west"].answer(request(PLAN), "ana@example.org")
    sites["west"].answer(request(PLAN, study="other"), "ana@example.org")
    return folder


def content(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_an_audit_says_what_left_and_is_verified_offline(tmp_path: Path, kit: Path) -> None:
    out = tmp_path / "audit.zip"
    assert "2 messages" in command("audit", kit, "--out", out).output
    found = content(out)
    page = found["report.txt"].decode()
    assert "Replies that left this client: 1, with" in page
    assert "Requests that it refused: 1." in page
    assert "Study 's'" in page
    assert "to: ana@example.org" in page
    assert "the rules of client.toml" in page
    logged = [json.loads(line) for line in (kit / "disclosures.jsonl").read_text().splitlines()]
    sent = [json.loads(line) for line in found["messages.jsonl"].splitlines()]
    assert [line["sha256"] for line in sent] == [line["sha256"] for line in logged]
    done = command("audit", "--verify", out, "--identity", kit / "peers.json")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("Unchanged since 'west' of 'f' exported it on")
    assert "compare this identity" in command("audit", "--verify", out).output


def test_the_protection_of_every_tier_is_in_words() -> None:
    transforms = [kind for kind in Transform.__subclasses__() if "fedclust.privacy" in str(kind)]
    assert len(transforms) >= 7
    assert {kind.__name__ for kind in transforms} == set(_PROTECTIONS)
    line = {"when": "2026-01-31T12:00", "to": "", "bytes": 1, "study": "s"}
    masks = ["FixedPoint(low=(0.0,))", "PairwiseMasks()", "Mine(1)"]
    page = write_page("c", "f", "2026-01-31T12:00", "x", [{**line, "transforms": masks}], [])
    assert "by: numbers on a grid that all clients share; Mine(1); masks, which only" in page


def test_approvals_are_in_the_audit(tmp_path: Path, kit: Path) -> None:
    log = kit / "disclosures.jsonl"
    line = json.loads(log.read_text().splitlines()[0])
    log.write_text(json.dumps({**line, "study_hash": "ab" * 32}) + "\n")
    made = Approvals(kit).decide("s", "ab" * 32, approved=True)
    export_audit(kit, tmp_path / "audit.zip")
    found = content(tmp_path / "audit.zip")
    assert f"approval: approved by {made.by}" in found["report.txt"].decode()
    assert json.loads(found["approvals.jsonl"])["hash"] == "ab" * 32


def test_nothing_private_is_in_the_audit(tmp_path: Path, kit: Path) -> None:
    """Neither rows, keys and paths, nor a field of the log that is not known to be public."""
    with open(kit / "disclosures.jsonl", "a") as log:
        line = {"when": "2026-01-01T00:00:00", "to": "x", "bytes": 1, "sha256": "0"}
        log.write(
            json.dumps({**line, "wrote": str(kit / "labels"), "private": "patient 17"}) + "\n"
        )
    export_audit(kit, tmp_path / "audit.zip")
    raw = (tmp_path / "audit.zip").read_bytes()
    (data,) = kit.glob("*.csv")
    values = [v for row in data.read_text().splitlines()[1:] for v in row.split(",") if len(v) > 8]
    assert values
    for secret in ("patient 17", str(kit), (kit / "identity.key").read_text().strip(), *values):
        assert secret.encode() not in raw


def test_every_changed_removed_or_added_byte_is_seen(tmp_path: Path, kit: Path) -> None:
    out, other = tmp_path / "audit.zip", tmp_path / "other.zip"
    export_audit(kit, out)
    raw = out.read_bytes()
    for at in range(0, len(raw), 7):
        for bad in (
            raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :],
            raw[:at] + raw[at + 1 :],
            raw[:at] + b"x" + raw[at:],
        ):
            other.write_bytes(bad)
            with pytest.raises(AuditError, match="do not rely on it"):
                verify_audit(other)
    for bad in (raw + b"x", b"x" + raw, b""):
        other.write_bytes(bad)
        with pytest.raises(AuditError, match="not the file that the client exported"):
            verify_audit(other)


def test_a_line_that_is_taken_out_and_packed_again_is_seen(tmp_path: Path, kit: Path) -> None:
    out, other = tmp_path / "audit.zip", tmp_path / "other.zip"
    export_audit(kit, out)
    files = content(out)
    files["messages.jsonl"] = files["messages.jsonl"].splitlines(keepends=True)[0]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    other.write_bytes(packed.getvalue())
    done = command("audit", "--verify", other)
    assert done.exit_code == 1
    assert "messages.jsonl differs from what was signed" in done.output
    assert len(done.output.splitlines()) == 1


def test_an_audit_of_another_identity_is_seen(tmp_path: Path, kit: Path) -> None:
    """An intruder can sign an audit of its own; only the identity shows that it is another's."""
    known = tmp_path / "peers.json"
    known.write_text((kit / "peers.json").read_text())
    renew_identity(kit, "west")
    export_audit(kit, tmp_path / "audit.zip")
    verify_audit(tmp_path / "audit.zip")
    done = command("audit", "--verify", tmp_path / "audit.zip", "--identity", known)
    assert done.exit_code == 1
    assert "the identity of 'west' is" in done.output


@pytest.mark.parametrize(
    "forged",
    [
        {"messages": "many"},
        {"messages": True},
        {"files": []},
        {"made": "today\nUnchanged since 'west' exported it"},
        {"client": 7},
        {"identity": None},
        {"more": 1},
    ],
)
def test_a_manifest_of_odd_types_is_a_sentence_even_if_it_is_signed(
    tmp_path: Path, kit: Path, forged: dict[str, Any]
) -> None:
    """Everybody with an identity can sign what they like; it is no audit, and no traceback."""
    out, other = tmp_path / "audit.zip", tmp_path / "other.zip"
    export_audit(kit, out)
    files = content(out)
    manifest = json.dumps({**json.loads(files["manifest.json"]), **forged}).encode()
    secret = bytes.fromhex((kit / "identity.key").read_text().strip())
    files["manifest.json"] = manifest
    files["manifest.sig"] = signature(secret, audit._signed(manifest)).hex().encode()
    other.write_bytes(audit._pack(files))
    done = command("audit", "--verify", other)
    assert done.exit_code == 1
    assert "manifest.json or manifest.sig is damaged" in done.output
    assert len(done.output.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "give the folder of a kit to export, or --verify FILE"),
        (("KIT", "--identity", "00"), "--identity goes with --verify"),
        (("--verify", "absent.zip"), "there is no file absent.zip"),
    ],
)
def test_a_wrong_use_is_one_sentence(kit: Path, words: tuple[str, ...], sentence: str) -> None:
    done = command("audit", *(kit if word == "KIT" else word for word in words))
    assert done.exit_code == 1
    assert sentence in done.output


def test_no_file_is_overwritten(tmp_path: Path, kit: Path) -> None:
    out = tmp_path / "data.csv"
    out.write_text("mine")
    done = command("audit", kit, "--out", out)
    assert done.exit_code == 1
    assert "exists already; choose another --out" in " ".join(done.output.split())
    assert out.read_text() == "mine"


def test_a_kit_without_an_identity_cannot_sign(tmp_path: Path, kit: Path) -> None:
    for name in ("identity.key", "peers.json"):
        (kit / name).unlink()
    done = command("audit", kit, "--out", tmp_path / "audit.zip")
    assert "--new-identity" in done.output
    assert not (tmp_path / "audit.zip").exists()
