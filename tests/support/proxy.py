"""A proxy as hospitals have them: it passes bytes on, and cannot read them. It can fail, too."""

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
        self.passes = threading.Event()  # while it is not set, no byte passes
        self.passes.set()
        self.refuses = False
        self.open: set[socket.socket] = set()

    def cut(self) -> None:
        """Close all connections, and refuse new ones."""
        self.refuses = True
        for one in tuple(self.open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def mute(self) -> None:
        """Keep connections open, and pass nothing on."""
        self.passes.clear()

    def heal(self) -> None:
        """Pass everything on, as before."""
        self.refuses = False
        self.passes.set()


class Tunnel(socketserver.StreamRequestHandler):
    server: Proxy

    def handle(self) -> None:
        self.server.passes.wait()
        if self.server.refuses:
            return
        verb, target, _ = self.rfile.readline().decode().split()
        headers = {line.partition(b":")[0].lower(): line for line in iter(self._line, b"")}
        login = headers.get(b"proxy-authorization", b"").decode().rpartition(" ")[2]
        self.server.asked.append(f"{verb} {target} {login}".strip())
        host, _, port = target.rpartition(":")
        try:
            far = socket.create_connection((host, int(port)))
        except ConnectionRefusedError:  # no server is running
            return
        with far:
            self._tunnel(far)

    def _tunnel(self, far: socket.socket) -> None:
        ends = {far, self.connection}
        self.server.open |= ends
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        passes = self.server.passes
        back = threading.Thread(target=pour, args=(far, self.connection, passes), daemon=True)
        back.start()
        pour(self.connection, far, passes)
        back.join()
        self.server.open -= ends

    def _line(self) -> bytes:
        return self.rfile.readline().strip()


def pour(source: socket.socket, target: socket.socket, passes: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(65_536):
            passes.wait()
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def proxy() -> Iterator[Proxy]:
    """A proxy that lives as long as the block."""
    with Proxy() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.heal()
        made.shutdown()
