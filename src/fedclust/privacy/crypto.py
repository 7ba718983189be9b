"""All cryptography of this package, in one file: names from pyca/cryptography, and nothing else.

X25519 for shared secrets, Ed25519 for signatures, HKDF-SHA256 for keys, ChaCha20 for masks. Every
secret comes from the operating system.
"""

import hashlib
import os
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core import ConfigError
from ..typing import IntArray

KEY_BYTES = 32
SIGNATURE_BYTES = 64


@cache
def _library() -> Any:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import ciphers, hashes
        from cryptography.hazmat.primitives.asymmetric import ed25519, x25519
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    except ImportError:
        raise ConfigError(
            "secure aggregation needs cryptography: pip install 'fedclust[secure]'"
        ) from None
    return SimpleNamespace(
        InvalidSignature=InvalidSignature,
        ciphers=ciphers,
        sha256=hashes.SHA256(),
        ed25519=ed25519,
        x25519=x25519,
        HKDF=HKDF,
    )


def fresh_secret() -> bytes:
    """32 bytes that cannot be guessed."""
    return os.urandom(KEY_BYTES)


def digest(*parts: bytes) -> bytes:
    """SHA-256 over parts, each with its length, so that no two lists of parts look alike."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()


def signing_public(secret: bytes) -> bytes:
    """The public half of an Ed25519 secret."""
    key = _library().ed25519.Ed25519PrivateKey.from_private_bytes(secret)
    return bytes(key.public_key().public_bytes_raw())


def signature(secret: bytes, text: bytes) -> bytes:
    """Ed25519 signature."""
    return bytes(_library().ed25519.Ed25519PrivateKey.from_private_bytes(secret).sign(text))


def is_signed(public: bytes, text: bytes, signed: bytes) -> bool:
    """Whether the owner of the public key has signed the text."""
    try:
        _library().ed25519.Ed25519PublicKey.from_public_bytes(public).verify(signed, text)
    except (_library().InvalidSignature, ValueError):
        return False
    return True


def exchange_public(secret: bytes) -> bytes:
    """The public half of an X25519 secret."""
    key = _library().x25519.X25519PrivateKey.from_private_bytes(secret)
    return bytes(key.public_key().public_bytes_raw())


def shared_secret(secret: bytes, public: bytes) -> bytes | None:
    """What both sides of an X25519 exchange compute; None for a public key that is none."""
    x25519 = _library().x25519
    key = x25519.X25519PrivateKey.from_private_bytes(secret)
    try:
        return bytes(key.exchange(x25519.X25519PublicKey.from_public_bytes(public)))
    except ValueError:
        return None


def key_for(secret: bytes, purpose: bytes) -> bytes:
    """A key of its own for each purpose: HKDF-SHA256."""
    lib = _library()
    return bytes(lib.HKDF(lib.sha256, KEY_BYTES, b"fedclust mask", purpose).derive(secret))


def mask_words(key: bytes, n: int) -> IntArray:
    """N uniform 64-bit words: the ChaCha20 keystream under a key that is used this once."""
    ciphers = _library().ciphers
    stream = ciphers.Cipher(ciphers.algorithms.ChaCha20(key, bytes(16)), None).encryptor()
    words: IntArray = np.frombuffer(stream.update(bytes(8 * n)), dtype="<i8")
    return words
