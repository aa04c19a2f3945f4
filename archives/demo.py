"""A small believable set of archives for `manage.py demo`: every file type, a plan with earlier texts, some faults."""

import json
import os
import shutil
import struct
import wave
import zlib
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path

from archives import plan_file, store
from archives.indexer import scan_workspace
from archives.models import Workspace
from archives.places import history_of
from archives.protocol import PLAN, ROOT, take_timestamp
from gateway.demo import World

DAILY, REVIEW, MAIN, FALLBACK = "8f3a2c", "b41e07", "main", "a3f2b1c-1128-2210"


def build(world: World) -> None:
    """Archives of both agents, written through the store, so that every file was read back."""
    clara, ops = (Workspace.objects.get(agent_id=agent_id) for agent_id in ("main", "ops"))
    now = world.now
    for text in (_plan("09:00"), _plan("09:30"), _plan("09:30", steps=5)):
        plan_file.write_plan(clara.path, history_of("main"), DAILY, text)
    for back in range(3):
        at = now - timedelta(days=back, hours=2, minutes=7 * back)
        _round(clara, DAILY, at, _daily(at))
    _round(clara, MAIN, now - timedelta(hours=1), _notes())
    _round(ops, REVIEW, now - timedelta(days=1, hours=5), _review())
    _round(ops, FALLBACK, now - timedelta(days=2), {"handover.md": _text("# 交接\n\n在会话之外写下。\n")})
    _faults(ops, now)
    for workspace in (clara, ops):
        for folder in (ROOT, "arch"):
            if (workspace.path / folder).exists():
                world.adopt(workspace.path / folder)
        scan_workspace(workspace, every=True)


def remove(world: World) -> None:
    """Earlier texts of every plan in the demo; the files go with the world, the index with the workspaces."""
    for relative in world.files:
        workspace, *rest = Path(relative).parts
        if len(rest) == 3 and rest[0] == ROOT and rest[2] == PLAN and workspace.startswith("workspace-"):
            shutil.rmtree(history_of(workspace.removeprefix("workspace-")) / rest[1], ignore_errors=True)


def _round(workspace: Workspace, archive_id: str, at: datetime, files: dict[str, bytes]) -> None:
    root = workspace.path
    timestamp = take_timestamp(at, workspace.tz)
    for number, (name, data) in enumerate(files.items()):
        stored = store.write_file(root, archive_id, timestamp, name, data)
        moment = (at + timedelta(seconds=20 * number)).timestamp()
        os.utime(root / str(stored.path), (moment, moment))


def _faults(workspace: Workspace, now: datetime) -> None:
    """What the protocol check is there to find."""
    root = workspace.path
    timestamp = take_timestamp(now - timedelta(days=1), workspace.tz)
    for path, text in (
        (f"arch/{ROOT}/{REVIEW}/{timestamp}/巡检 草稿.md", "# 草稿\n"),
        (f"{ROOT}/{REVIEW}/summary.md", "# Summary\n"),
        (f"{ROOT}/{REVIEW}/2026-11-28 09:00:00/notes.txt", "bucket with a space\n"),
    ):
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    link = root / ROOT / REVIEW / "hosts"
    if not link.is_symlink():
        link.symlink_to("/etc/hosts")


def _text(text: str) -> bytes:
    return text.encode()


def _plan(at: str, steps: int = 4) -> bytes:
    minute, hour = at[3:], at[:2].lstrip("0")
    more = "\n  5. **[通知]**：把三条要点发到频道。" if steps == 5 else ""
    return _text(
        f"### [Task_ID: 5b0c6d1e-demo] 每日竞品快报\n\n"
        "- **Role_Context**: 竞品观察员 (Aligned with SOUL.md & IDENTITY.md)\n"
        f"- **Archive_Path**: archives/{DAILY}/PLAN.md\n- **Status**: Active\n"
        f"- **Schedule**: cron {int(minute)} {hour} * * * (Asia/Shanghai)\n\n#### ORA Detail\n\n"
        "- **Objective**: 每天开工前知道三家竞品改了什么，不必自己翻页面。\n"
        "- **Result**: 一页快报、一张价格表、一张走势图；少于 24 小时的变化都在里面。\n- **Action_Steps**:\n"
        f"  1. **[读取本文件指令]**：从路径 `archives/{DAILY}/PLAN.md` 中读取 `Task_ID: 5b0c6d1e-demo` 的详细计划并按步骤执行。\n"
        "  2. **[上下文校验]**：确认当前上下文已对齐 `SOUL.md` 与 `IDENTITY.md`。\n"
        "  3. **[执行动作]**：抓取三家的更新日志与价格页，比较昨天。\n"
        f"  4. **[归档校验]**：验证输出物已存入 `archives/{DAILY}/{{{{TIMESTAMP}}}}/` 目录。{more}\n"
    )


def _daily(at: datetime) -> dict[str, bytes]:
    day = f"{at:%m-%d}"
    prices = {
        "day": f"{at:%Y-%m-%d}",
        "currency": "CNY",
        "plans": {"北斗": 199, "Lumen": 168, "Orbit": 212},
        "changed": ["Lumen"],
        "checked": True,
        "source": None,
    }
    rows = "\n".join(
        f"{name},{old},{new},{new - old:+d}"
        for name, old, new in (("北斗", 199, 199), ("Lumen", 188, 168), ("Orbit", 212, 212))
    )
    report = (
        f"# 竞品快报 {day}\n\n**一句话**：Lumen 降价 10.6%，其余两家没有变化。\n\n## 变化\n\n"
        "| 产品 | 昨天 | 今天 |\n| --- | ---: | ---: |\n| 北斗 | 199 | 199 |\n| Lumen | 188 | **168** |\n| Orbit | 212 | 212 |\n\n"
        "## 判断\n\n- 降价只在年付页，月付没有动。\n- 更新日志里没有新功能，像是一次促销。\n\n"
        '> 建议：本周先观察，周五再决定是否跟进。\n\n```python\nchange = (168 - 188) / 188\nprint(f"{change:.1%}")  # -10.6%\n```\n'
    )
    return {
        f"竞品快报 {day}.md": _text(report),
        "prices.json": _text(json.dumps(prices, ensure_ascii=False, indent=2)),
        "changes.csv": _text(f"产品,昨天,今天,差\n{rows}\n"),
        "trend.png": _chart(at.day),
    }


def _review() -> dict[str, bytes]:
    code = 'from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Finding:\n    """One line of the review."""\n\n    path: str\n    line: int\n    text: str\n\n    @property\n    def place(self) -> str:\n        return f"{self.path}:{self.line}"\n'
    page = "<!doctype html><title>Inspection</title><style>body{font:16px system-ui;margin:2rem;color:#222}h1{color:#c2401f}</style><h1>Inspection board</h1><p>7 findings, 2 of them urgent.</p><script>document.title='never runs'</script>"
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 120"><rect width="320" height="120" rx="8" fill="#fbe9e3"/><circle cx="60" cy="60" r="34" fill="#c2401f"/><text x="120" y="68" font-family="sans-serif" font-size="26" fill="#22201d">7 findings</text></svg>'
    log = "".join(
        f"2026-11-29T09:{at // 60:02d}:{at % 60:02d}Z step {at:04d} checked file {at * 7 % 311} ok\n"
        for at in range(6000)
    )
    return {
        "inspect_hosts.py": _text(code),
        "board.html": _text(page),
        "board.svg": _text(svg),
        "weekly.pdf": _pdf("Weekly inspection: 7 findings, 2 urgent"),
        "standup.wav": _tone(),
        "run.log": _text(log),
        "vectors.bin": bytes(range(256)) * 64,
    }


def _notes() -> dict[str, bytes]:
    todo = "# Notes\n\n- [x] price table\n- [ ] ask about the yearly plan\n"
    return {
        "notes.md": _text(todo),
        "settings.yaml": _text("zone: Asia/Shanghai\nquiet_hours: [22, 7]\n"),
        "contacts.tsv": _text("name\trole\n李雷\t采购\nMei\tops\n"),
    }


def _chart(seed: int, width: int = 480, height: int = 180) -> bytes:
    """A line chart as PNG, drawn pixel by pixel."""
    levels = [0.35 + 0.25 * (((seed * 7 + at * at * 3) % 11) / 11) + 0.02 * at for at in range(12)]
    rows = []
    for y in range(height):
        row = bytearray(b"\0")
        for x in range(width):
            at = x / width * 11
            low, part = int(at), at - int(at)
            level = levels[low] * (1 - part) + levels[min(low + 1, 11)] * part
            edge = height - level * height
            row += (
                b"\xc2\x40\x1f"
                if abs(y - edge) < 2
                else b"\xfb\xe9\xe3"
                if y > edge
                else b"\xee\xea\xe4"
                if y % 45 == 0
                else b"\xff\xff\xff"
            )
        rows.append(bytes(row))

    def part_of(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + part_of(b"IHDR", head)
        + part_of(b"IDAT", zlib.compress(b"".join(rows)))
        + part_of(b"IEND", b"")
    )


def _tone() -> bytes:
    """Half a second of a quiet 440 Hz square wave."""
    out = BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(bytes(140 if at // 9 % 2 else 116 for at in range(4000)))
    return out.getvalue()


def _pdf(line: str) -> bytes:
    """A PDF of one page with one line."""
    stream = f"BT /F1 24 Tf 60 740 Td ({line}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return bytes(out + b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % table)
