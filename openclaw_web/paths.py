"""Where things live on this host. Imports no app, so every app may use it."""

import os
import secrets
from pathlib import Path

from django.conf import settings


def state_dir() -> Path:
    """The OpenClaw state dir that is shown (`OPENCLAW_STATE_DIR`, default `~/.openclaw`); may not exist yet."""
    return Path(settings.OPENCLAW_STATE_DIR)


def config_path() -> Path:
    """OpenClaw's configuration: `OPENCLAW_CONFIG_PATH` where it is set, as OpenClaw itself has it, else in the state dir."""
    named = settings.OPENCLAW_CONFIG_PATH
    return Path(named).expanduser().absolute() if named else state_dir() / "openclaw.json"


def data_dir() -> Path:
    """Our own runtime files (database, secret key, logs), made 0700 when first asked for."""
    path = Path(settings.DATA_DIR)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def read_or_make_secret(path: Path) -> str:
    """The secret in `path` (0600), made on first use. Two first starts at once agree on one secret.

    Raises OSError where the folder cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(64))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)  # never over a secret that another start has just made
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    secret = path.read_text().strip()
    if len(secret) < 50:
        raise OSError(f"{path} holds no usable secret; remove it and start again")
    return secret
