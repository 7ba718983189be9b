"""Check the certificate of a kit: owner, validity, and acceptance by the server."""

import http.client
import os
import socket
import ssl
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key

_SECONDS = 5.0
T = TypeVar("T")


def days_left(startup: Path, role: str, name: str | None = None) -> int:
    """Days until the certificate of a kit expires; ValueError if it is not valid now."""
    base = "server" if role == "server" else "client"  # the coordinator also has client.crt
    certificate = _load(startup / f"{base}.crt", x509.load_pem_x509_certificate)
    authority = _load(startup / "rootCA.pem", x509.load_pem_x509_certificate)
    key = _load(startup / f"{base}.key", lambda raw: load_pem_private_key(raw, password=None))
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, UnsupportedAlgorithm, TypeError, ValueError):
        raise ValueError("it is not signed by the authority of the kit") from None
    if key.public_key() != certificate.public_key():
        raise ValueError("the private key does not match the certificate")
    subjects = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    if name is not None and role == "client" and name not in [one.value for one in subjects]:
        owner = ", ".join(str(one.value) for one in subjects)
        raise ValueError(f"it belongs to {owner!r}; startup/ is from another kit")
    now, begin = datetime.now(UTC), certificate.not_valid_before_utc
    if now < begin:
        raise ValueError(f"not valid before {begin:%Y-%m-%d %H:%M} UTC; check this machine's clock")
    end = min(certificate.not_valid_after_utc, authority.not_valid_after_utc)
    if now > end:
        raise ValueError(f"it expired on {end:%Y-%m-%d}; ask the coordinator for a renewal")
    return (end - now).days


def _load(path: Path, parse: Callable[[bytes], T]) -> T:
    """What a file has; parsers say why it is damaged in words that help nobody here."""
    try:
        return parse(path.read_bytes())
    except FileNotFoundError:
        what = "missing"
    except (ValueError, TypeError, UnsupportedAlgorithm):
        what = "damaged"
    raise ValueError(
        f"{path.name} is {what}; unpack the kit again, or ask the coordinator for a renewal"
    )


def check_handshake(startup: Path, host: str, port: int) -> str:
    """Connect with the certificate of the kit; return an empty string or the problem."""
    context = ssl.create_default_context(cafile=str(startup / "rootCA.pem"))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.load_cert_chain(startup / "client.crt", startup / "client.key")
    context.set_alpn_protocols(["h2"])
    try:
        with (
            _connect(host, port) as connection,
            context.wrap_socket(connection, server_hostname=host) as secure,
        ):
            # The server rejects a client certificate only after the handshake.
            return "" if secure.recv(1) else "the server does not accept this certificate"
    except ssl.SSLCertVerificationError as problem:
        return (
            f"the server has no certificate of this federation ({problem.verify_message}); a proxy "
            "that intercepts TLS may be the cause"
        )
    except ssl.SSLError as problem:
        return f"TLS handshake failed ({problem.reason or problem})"
    except TimeoutError:
        return f"no reply within {_SECONDS:g} seconds"
    except OSError as problem:
        return f"no connection ({problem.strerror or problem})"


def _connect(host: str, port: int) -> socket.socket:
    """Open a connection, through the proxy that gRPC would use."""
    proxy = proxy_for(host, os.environ)
    if not proxy:
        return socket.create_connection((host, port), timeout=_SECONDS)
    tunnel = http.client.HTTPConnection(proxy.hostname or "", proxy.port or 80, timeout=_SECONDS)
    login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}" if proxy.username else ""
    headers = (
        {"Proxy-Authorization": f"Basic {b64encode(login.encode()).decode()}"} if login else {}
    )
    tunnel.set_tunnel(host, port, headers)
    try:
        tunnel.connect()
    except OSError as problem:
        address = f"{proxy.hostname}:{proxy.port or 80}"
        raise OSError(f"through the proxy {address}: {problem}") from None
    return tunnel.sock


def proxy_for(host: str, environment: Mapping[str, str]) -> SplitResult | None:
    """HTTP proxy that gRPC uses for a host, from the environment."""
    names = ("grpc_proxy", "https_proxy", "http_proxy")
    url = next((environment[name] for name in names if environment.get(name)), "")
    exceptions = environment.get("no_grpc_proxy") or environment.get("no_proxy") or ""
    if not url or any(host.endswith(end.strip()) for end in exceptions.split(",") if end.strip()):
        return None
    return urlsplit(url)
