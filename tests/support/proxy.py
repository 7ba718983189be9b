"""A proxy as hospitals have them: it passes bytes on, and cannot read them."""

import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator


class Proxy(socketserver.ThreadingTCPServer):
    """An HTTP proxy that knows CONNECT, and nothing of what goes through it."""

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Tunnel)
        self.asked: list[str] = []
        self.address = f"http://127.0.0.1:{self.server_address[1]}"


class Tunnel(socketserver.StreamRequestHandler):
    server: Proxy

    def handle(self) -> None:
        verb, target, _ = self.rfile.readline().decode().split()
        headers = {line.partition(b":")[0].lower(): line for line in iter(self._line, b"")}
        login = headers.get(b"proxy-authorization", b"").decode().rpartition(" ")[2]
        self.server.asked.append(f"{verb} {target} {login}".strip())
        host, _, port = target.rpartition(":")
        with socket.create_connection((host, int(port))) as far:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=pour, args=(far, self.connection), daemon=True)
            back.start()
            pour(self.connection, far)
            back.join()

    def _line(self) -> bytes:
        return self.rfile.readline().strip()


def pour(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(65_536):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def proxy() -> Iterator[Proxy]:
    """A proxy that lives as long as the block."""
    with Proxy() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()
