"""A running real Gateway to hold ours against: one kept WebSocket connection (contract §1)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

PROGRAM = Path(__file__).resolve().parent.parent / "script" / "openclaw-real"
PORT = int(os.environ.get("OPENCLAW_REAL_PORT") or 18940)


class RealGateway:
    """Calls methods and waits for their answers."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    def call(self, method: str, params: dict[str, Any]) -> Any:
        """The payload of one method. Raises RuntimeError with the Gateway's own error."""
        frame_id = str(uuid.uuid4())
        self.socket.send(json.dumps({"type": "req", "id": frame_id, "method": method, "params": params}))
        while True:
            frame = json.loads(self.socket.recv(timeout=60))
            if frame.get("type") == "res" and frame.get("id") == frame_id:
                if not frame["ok"]:
                    raise RuntimeError(method, frame["error"])
                return frame.get("payload")


def is_installed() -> bool:
    root = Path(os.environ.get("OPENCLAW_REAL_HOME") or PROGRAM.parent.parent / ".interop")
    return (root / "npm/node_modules/openclaw/openclaw.mjs").is_file()


@contextmanager
def running() -> Iterator[tuple[RealGateway, Path]]:
    """Starts a real Gateway and connects; gives it with its state folder, and stops it afterwards."""
    env = os.environ | {"OPENCLAW_REAL_PORT": str(PORT)}
    with tempfile.TemporaryDirectory(prefix="bench-openclaw-") as folder:
        command = [sys.executable, str(PROGRAM), "start", "--state", folder]
        try:
            started = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
            facts = json.loads(started.stdout)
            with connect(facts["url"], max_size=None) as socket:
                shake_hands(socket, facts["token"])
                yield RealGateway(socket), Path(facts["state"])
        finally:
            stop = [sys.executable, str(PROGRAM), "stop"]
            subprocess.run(stop, env=env, capture_output=True, check=False)


def shake_hands(socket: ClientConnection, token: str) -> None:
    """Connect as an outside program does (contract §1.3). Raises RuntimeError when refused."""
    json.loads(socket.recv(timeout=30))  # connect.challenge; answered only by clients with a device
    client = {"id": "gateway-client", "version": "0", "platform": "linux", "mode": "backend"}
    params = {
        "minProtocol": 4,
        "maxProtocol": 4,
        "client": client,
        "role": "operator",
        "scopes": ["operator.admin"],
        "caps": ["skill-curator-live-inventory"],
        "auth": {"token": token},
    }
    socket.send(json.dumps({"type": "req", "id": "connect", "method": "connect", "params": params}))
    answer = json.loads(socket.recv(timeout=60))
    if not answer.get("ok"):
        raise RuntimeError(f"the real Gateway refuses: {answer.get('error')}")
