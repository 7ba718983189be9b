"""The primitives are the published ones, and nothing random comes from anywhere else."""

import ast
import hashlib
import hmac
import sys
from pathlib import Path

import numpy as np
import pytest

import fedclust.privacy
from fedclust import ConfigError
from fedclust.privacy import crypto

pytest.importorskip("cryptography")
SOURCE = Path(fedclust.privacy.__file__).parent


def test_x25519_is_that_of_rfc_7748() -> None:
    """Section 6.1."""
    alice = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c5f3c0bc9f1f0c1b4bfe4f8f0f0b3")
    bob = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    public = crypto.exchange_public(bob)
    assert public.hex() == "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
    assert crypto.shared_secret(alice, public) == crypto.shared_secret(
        bob, crypto.exchange_public(alice)
    )


def test_ed25519_is_that_of_rfc_8032() -> None:
    """Section 7.1, test 1: the empty message."""
    secret = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert crypto.signing_public(secret).hex() == public
    signed = crypto.signature(secret, b"")
    assert signed.hex().startswith("e5564300c360ac729086e2cc806e828a")
    assert crypto.is_signed(bytes.fromhex(public), b"", signed)
    assert not crypto.is_signed(bytes.fromhex(public), b"x", signed)
    assert not crypto.is_signed(b"short", b"", signed)


def test_masks_are_the_chacha20_keystream_of_rfc_8439() -> None:
    """Appendix A.1, test vectors 1 and 2: zero key and nonce, blocks 0 and 1."""
    words = crypto.mask_words(bytes(32), 16)
    assert words.astype("<i8").tobytes().hex() == (
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"
    )


def test_keys_are_hkdf_sha256() -> None:
    """RFC 5869, from HMAC alone."""
    secret, purpose = b"s" * 32, b"purpose"
    extracted = hmac.new(b"fedclust mask", secret, hashlib.sha256).digest()
    expanded = hmac.new(extracted, purpose + b"\x01", hashlib.sha256).digest()
    assert crypto.key_for(secret, purpose) == expanded


def test_a_digest_tells_where_parts_end() -> None:
    assert crypto.digest(b"ab", b"c") != crypto.digest(b"a", b"bc")
    assert crypto.digest(b"") != crypto.digest()


def test_a_point_of_low_order_is_no_key() -> None:
    assert crypto.shared_secret(crypto.fresh_secret(), bytes(32)) is None


def test_masks_are_uniform() -> None:
    """Bytes of a million words: chi-square with 255 degrees of freedom, mean 255, sd 22.6."""
    raw = crypto.mask_words(crypto.key_for(b"k" * 32, b""), 2**20).tobytes()
    counts = np.bincount(np.frombuffer(raw, np.uint8), minlength=256)
    expected = len(raw) / 256
    assert 150 < ((counts - expected) ** 2 / expected).sum() < 380


def test_no_other_randomness_in_what_protects() -> None:
    """No numpy generator, no `random`: secrets come from the operating system or from OpenDP."""
    for path in SOURCE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", "") or ""}
                assert not any("random" in name.split(".") for name in names), path
            if isinstance(node, ast.Attribute):
                assert node.attr not in {"random", "default_rng", "RandomState"}, path
            if isinstance(node, ast.Name):  # a step may be handed a generator, and must not use it
                assert node.id not in {"rng", "random"} or not isinstance(node.ctx, ast.Load), path


def test_without_the_library_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crypto._library.cache_clear()
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    with pytest.raises(ConfigError, match=r"pip install 'fedclust\[secure\]'"):
        crypto.exchange_public(bytes(32))
    crypto._library.cache_clear()
