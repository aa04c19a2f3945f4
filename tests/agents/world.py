"""A state dir as bad as they come, and a reader who opens every page of it.

`dress` adds to a state dir what agents and strangers leave in one; `walk` follows every link from the home page.
"""

import functools
import hashlib
import os
import re
from html import unescape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from asgiref.sync import async_to_sync
from django.urls import Resolver404, resolve

SECRET = "SECRET-9f2c71-outside-the-workspace"
TOKEN = "sk-token-of-the-gateway-51ab"
_LINK = re.compile(r"""(?:href|src|hx-get)=["']([^"'#]+)""")
# Leaving, changing something by address, or a stream that never ends.
_NOT_FOLLOWED = ("/signout", "/events/", "/static/", "/i18n/", "/admin/logout")
# Pages of agents' own words, whose links lead where their writers thought.
_SHOWS_TEXTS = ("agents:file", "archives:file", "archives:preview", "archives:plan", "workshop:skill")


def dress(workspaces: dict[str, Path], outside: Path, *, files: int) -> None:
    """`files` archived files with Chinese names over two agents, and ways out of both workspaces."""
    (outside / "folder").mkdir(parents=True)
    (outside / "secret.md").write_text(SECRET)
    (outside / "folder" / "secret.csv").write_text(f"a,b\n{SECRET},1\n")
    share = files // len(workspaces)
    for agent_id, root in workspaces.items():
        root.mkdir(parents=True, exist_ok=True)
        _archived(root, agent_id, share)
        bucket = root / "archives" / "main" / "2026-11-01-09-00-00"
        bucket.mkdir(parents=True, exist_ok=True)
        (bucket / "泄漏 leak.md").symlink_to(outside / "secret.md")
        (root / "archives" / "外面").symlink_to(outside / "folder")
        (root / "archives" / "main" / "2026-11-01-09-00-01").symlink_to(outside / "folder")
        os.mkfifo(bucket / "管道.txt")
        os.link(outside / "secret.md", root / "MEMORY.md")
        (root / "USER.md").unlink(missing_ok=True)
        (root / "USER.md").symlink_to(outside / "secret.md")
        (root / "TOOLS.md").write_bytes("备注 ".encode() + b"\xe9\xff")


def _archived(root: Path, agent_id: str, count: int) -> None:
    """Fifty files a bucket, ten buckets an archive; every name holds Chinese, some a space or an emoji."""
    bodies = {
        "md": f"# 周报 {agent_id}\n\n正文 <script>alert(1)</script>\n",
        "json": '{"数": 1}',
        "csv": "列,值\n甲,1\n",
    }
    kinds = list(bodies)
    for number in range(count):
        archive, bucket = divmod(number // 50, 10)
        folder = (
            root / "archives" / f"任务-{archive:03d}" / f"2026-10-{bucket + 1:02d}-08-30-{archive % 60:02d}"
        )
        if number % 50 == 0:
            folder.mkdir(parents=True)
        kind = kinds[number % 3]
        (folder / f"第{number:05d}份 报告🦞.{kind}").write_text(bodies[kind])


def break_config(path: Path) -> tuple[int, int]:
    """Takes the first comma out of the file's list of agents; returns the line and column of the fault."""
    text = path.read_text()
    start = text.index("agents")
    at = text.index("},", start) + 1
    broken = text[:at] + text[at + 1 :]
    path.write_text(broken)
    # What stands where the comma was missed: the next thing that is not space.
    fault = at + len(broken[at:]) - len(broken[at:].lstrip())
    return broken.count("\n", 0, fault) + 1, fault - broken.rfind("\n", 0, fault)


def walk(client, *, each: int, limit: int) -> dict[str, int]:
    """Opens pages by their links, at most `each` of every view and `limit` in all, views seldom opened first.

    Returns how many of each view were opened.

    Every answer must be a page or a file: an exception fails the test by itself, and so do an error page and a
    byte of what lies outside.
    """
    opened: dict[str, int] = {}
    waiting, seen = ["/", "/search/?q=报告"], {"/"}
    while waiting and sum(opened.values()) < limit:
        url = min(waiting, key=lambda one: opened.get(_view(one), 0))
        waiting.remove(url)
        name = _view(url)
        if opened.get(name, 0) >= each:
            break
        opened[name] = opened.get(name, 0) + 1
        answer = client.get(url)
        assert answer.status_code in (200, 204, 301, 302, 304), f"{answer.status_code} from {url}"
        body = _whole(answer)
        assert SECRET.encode() not in body, f"{url} shows what lies outside"
        assert TOKEN.encode() not in body, f"{url} shows the token"
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            for link in _LINK.findall(body.decode()):
                target = urlsplit(urljoin(url, unescape(link)))
                whole = target.path + (f"?{target.query}" if target.query else "")
                if target.netloc or whole in seen or target.path.startswith(_NOT_FOLLOWED):
                    continue
                seen.add(whole)
                if _view(whole):
                    waiting.append(whole)
                else:
                    assert name in _SHOWS_TEXTS, f"{url} links to {whole}, which is nowhere"
    return opened


@functools.cache
def _view(url: str) -> str:
    """The view behind an address; empty where there is none."""
    try:
        return resolve(urlsplit(url).path).view_name
    except Resolver404:
        return ""


def _whole(answer) -> bytes:
    """All bytes of an answer, however it is sent."""
    if not answer.streaming:
        return answer.content
    if not answer.is_async:
        return b"".join(answer.streaming_content)

    async def collect() -> bytes:
        return b"".join([part async for part in answer.streaming_content])

    return async_to_sync(collect)()


def fingerprint(*roots: Path) -> dict[str, str]:
    """Every file and link below the roots by its bytes: reading must leave it as it was."""
    found = {}
    for root in roots:
        for path in sorted(root.rglob("*")):
            if path.is_symlink():
                found[str(path)] = f"-> {path.readlink()}"
            elif path.is_file():
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
