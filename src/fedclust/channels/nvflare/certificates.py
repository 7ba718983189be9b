"""A kit's certificate: whose it is, how long it lasts, and whether the server accepts it."""

import http.client
import os
import socket
import ssl
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_private_key

_SECONDS = 5.0


def days_left(startup: Path, role: str, name: str | None = None) -> int:
    """Days until the certificate of a kit ends; a ValueError says why it cannot be used now."""
    base = (
        "server" if role == "server" else "client"
    )  # the coordinator's has the name of a client's
    certificate = x509.load_pem_x509_certificate((startup / f"{base}.crt").read_bytes())
    authority = x509.load_pem_x509_certificate((startup / "rootCA.pem").read_bytes())
    key = load_pem_private_key((startup / f"{base}.key").read_bytes(), password=None)
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, TypeError, ValueError):
        raise ValueError("it is not signed by the authority of the kit") from None
    if key.public_key() != certificate.public_key():
        raise ValueError("the key is not the certificate's")
    subjects = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    if name is not None and role == "client" and name not in [one.value for one in subjects]:
        owner = ", ".join(str(one.value) for one in subjects)
        raise ValueError(f"it is that of {owner!r}: startup/ is of another kit")
    now, begin = datetime.now(UTC), certificate.not_valid_before_utc
    if now < begin:
        raise ValueError(f"it begins on {begin:%Y-%m-%d %H:%M} UTC; is this machine's clock right?")
    end = min(certificate.not_valid_after_utc, authority.not_valid_after_utc)
    if now > end:
        raise ValueError(f"it ended on {end:%Y-%m-%d}; ask the coordinator for a renewal")
    return (end - now).days


def shake_hands(startup: Path, host: str, port: int) -> str:
    """Connect as the kit would; empty if both sides are content, else what went wrong."""
    context = ssl.create_default_context(cafile=str(startup / "rootCA.pem"))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.load_cert_chain(startup / "client.crt", startup / "client.key")
    context.set_alpn_protocols(["h2"])
    try:
        with (
            _line(host, port) as line,
            context.wrap_socket(line, server_hostname=host) as secure,
        ):
            # Whether our certificate is accepted shows only in what comes next.
            return "" if secure.recv(1) else "the server does not accept this certificate"
    except ssl.SSLCertVerificationError as problem:
        return (
            f"whoever answers has no certificate of this federation ({problem.verify_message}); a "
            "proxy that opens TLS would look like this"
        )
    except ssl.SSLError as problem:
        return f"whoever answers does not speak TLS as it should ({problem.reason or problem})"
    except TimeoutError:
        return f"no answer within {_SECONDS:g} seconds"
    except OSError as problem:
        return f"no connection ({problem.strerror or problem})"


def _line(host: str, port: int) -> socket.socket:
    """A connection, through a proxy where gRPC would go through one."""
    proxy = proxy_for(host, os.environ)
    if not proxy:
        return socket.create_connection((host, port), timeout=_SECONDS)
    through = http.client.HTTPConnection(proxy.hostname or "", proxy.port or 80, timeout=_SECONDS)
    login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}" if proxy.username else ""
    known = {"Proxy-Authorization": f"Basic {b64encode(login.encode()).decode()}"} if login else {}
    through.set_tunnel(host, port, known)
    try:
        through.connect()
    except OSError as problem:
        where = f"{proxy.hostname}:{proxy.port or 80}"
        raise OSError(f"by way of the proxy {where}: {problem}") from None
    return through.sock


def proxy_for(host: str, environment: Mapping[str, str]) -> SplitResult | None:
    """The HTTP proxy that gRPC takes to a host, as its environment has it."""
    names = ("grpc_proxy", "https_proxy", "http_proxy")
    found = next((environment[name] for name in names if environment.get(name)), "")
    except_for = environment.get("no_grpc_proxy") or environment.get("no_proxy") or ""
    if not found or any(host.endswith(end.strip()) for end in except_for.split(",") if end.strip()):
        return None
    return urlsplit(found)
