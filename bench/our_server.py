"""Our own web server as people run it (uvicorn), spoken to over one kept connection."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class OurServer:
    """Calls methods through `POST /api/rpc/<method>` and waits for their answers."""

    def __init__(self, port: int, secret: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.connect()
        # As the WebSocket client does: a small frame is not held back to wait for another.
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.headers = {
            "Authorization": f"Bearer {secret}",
            "Content-Type": "application/json",
            "OpenClaw-Caps": "skill-curator-live-inventory",
        }

    def send(self, method: str, params: dict[str, Any]) -> bytes:
        """The body of the answer."""
        self.connection.request("POST", f"/api/rpc/{method}", json.dumps(params), self.headers)
        return self.connection.getresponse().read()

    def call(self, method: str, params: dict[str, Any]) -> Any:
        """The payload of one method. Raises RuntimeError with its error."""
        answer = json.loads(self.send(method, params))
        if not answer["ok"]:
            raise RuntimeError(method, answer["error"])
        return answer["payload"]


@contextmanager
def serving(secret: str) -> Iterator[OurServer]:
    """Starts the server on the settings and database of this process; ends it afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["-m", "uvicorn", "openclaw_web.asgi:application", "--port", str(port), "--lifespan", "off"]
    # Filling the database with history takes longer than the five seconds a silent connection is kept.
    quiet = ["--no-access-log", "--log-level", "warning", "--timeout-keep-alive", "300"]
    server = subprocess.Popen([sys.executable, *words, *quiet])
    try:
        yield OurServer(_listening(server, port), secret)
    finally:
        server.terminate()
        server.wait(timeout=30)


def _listening(server: subprocess.Popen[bytes], port: int) -> int:
    for _try in range(300):
        if server.poll() is not None:
            raise RuntimeError(f"the server ended with {server.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return port
    raise RuntimeError("the server does not listen")
