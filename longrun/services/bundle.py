"""Installing the shipped skills into an agent's workspace, with the token their scripts use."""

import json
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from agents.roster import get_agent
from gateway import audit
from gateway.callers import WRITE, Caller
from gateway.models import ApiToken
from gateway.tokens import digest_of, make_token, revoke_token
from longrun import bundle
from longrun.bundle import Change
from longrun.errors import LongRunError


@dataclass(frozen=True, slots=True)
class Installed:
    """What an installation did. `kept` are edited files that were left alone; `token` is made, kept or none."""

    workspace: Path
    changes: list[Change]
    kept: list[Change]
    token: str


def install_skills(
    agent_id: str, *, caller: Caller, overwrite: bool = False, url: str = "", session_key: str = ""
) -> Installed:
    """Brings the workspace's bundle up to date; a second time it changes nothing.

    An edited file stays as it is unless `overwrite`; its difference is in `changes` either way. A token is
    made for the agent where its configuration has none that still works (write, this agent only, held by it).
    Raises AgentsError for an unknown agent, LongRunError `WORKSPACE_MISSING`, ArchivesError for symlinks.
    """
    root = get_agent(agent_id).workspace
    if not root.is_dir():
        raise LongRunError(
            _("The workspace of “%(agent)s”, %(path)s, is not there yet.")
            % {"agent": agent_id, "path": root},
            code="WORKSPACE_MISSING",
        )
    files = bundle.shipped_files()
    bundle.sweep(root, files)
    changes = bundle.compare(root, files)
    hashes = bundle.read_manifest(root)
    kept = []
    for change in changes:
        if change.kind == "edited" and not overwrite:
            kept.append(change)
        elif change.kind == "gone":
            bundle.remove(root, change.path)
            hashes.pop(change.path, None)
        else:
            data, executable = files[change.path]
            if change.kind != "same":
                bundle.write(root, change.path, data, mode=0o755 if executable else 0o644)
            hashes[change.path] = bundle.digest(data)
    if hashes != bundle.read_manifest(root):
        bundle.write_manifest(root, hashes)
    token = _configure(root, agent_id, caller, url, session_key)
    written = [change.path for change in changes if change.kind != "same" and change not in kept]
    if written or token == "made":  # noqa: S105 - a word, not a secret
        audit.record(
            caller, "skills.install", agent_id=agent_id, detail={"written": len(written), "token": token}
        )
    return Installed(root, changes, kept, token)


def _configure(root: Path, agent_id: str, caller: Caller, url: str, session_key: str) -> str:
    """Writes `.openclaw-web/client.json` (0600) unless it has a token that works; keeps it out of Git."""
    address = url or f"http://{settings.LISTEN_HOST}:{settings.LISTEN_PORT}"
    place = f"{bundle.OWN}/{bundle.CONFIG}"
    try:
        known = json.loads(bundle.read(root, place) or b"{}")
    except ValueError:
        known = {}
    usable = isinstance(known, dict) and known.get("agent") == agent_id and known.get("token")
    held = ApiToken.objects.usable().filter(digest=digest_of(str(known["token"]))).first() if usable else None
    fits = held is not None and session_key in ("", held.session_key)
    if fits and known.get("url") == address:
        return "kept"
    secret = known["token"] if fits else ""
    if not fits:
        _token, secret = make_token(
            f"skills of {agent_id}",
            scopes=[WRITE],
            agent_ids=[agent_id],
            is_agent=True,
            session_key=session_key,
            caller=caller,
        )
    bundle.write(root, f"{bundle.OWN}/.gitignore", b"*\n")
    config = {"url": address, "agent": agent_id, "token": secret}
    bundle.write(root, place, json.dumps(config, indent=1).encode() + b"\n", mode=0o600)
    if held is not None and not fits:
        # Nobody holds its secret any more.
        revoke_token(held, caller=caller)
    return "kept" if fits else "made"
