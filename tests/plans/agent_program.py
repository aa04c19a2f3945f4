"""A small agent for the `command` runner: it does what the message says and archives a report by the protocol.

    python agent_program.py --session KEY --message TEXT

It knows nothing of the project: the message names the plan file, the session gives nothing but its name. What it can
be told by environment variables is what real programs do too: be slow, fail, not start, say nothing, start twice.

AGENT_COUNT_FILE  append one line for each execution (session and process id)
AGENT_SLEEP       seconds before it writes
AGENT_EXIT        exit status at the end
AGENT_SILENT      write no report
AGENT_CHANGE      append this text to PLAN.md while running
AGENT_CHILD       start a grandchild that ignores SIGTERM for so many seconds
"""

import argparse
import os
import re
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

INSTRUCTION = re.compile(r"^从路径 (archives/([^/]+)/PLAN\.md) 中读取 Task_ID: (\S+) 的详细计划并按步骤执行$")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--session", required=True)
    parser.add_argument("--message", required=True)
    options = parser.parse_args()
    first = options.message.split("\n", 1)[0]
    match = INSTRUCTION.match(first)
    if not match:
        print(f"not an instruction: {first}", file=sys.stderr)
        return 2
    if count := os.environ.get("AGENT_COUNT_FILE"):
        with open(count, "a") as file:
            file.write(f"{options.session} {os.getpid()}\n")
    path, archive_id, task_id = match.groups()
    plan = Path(path).read_text(encoding="utf-8")
    if task_id not in plan or plan.strip() not in options.message:
        print("the file is not the text of the message", file=sys.stderr)
        return 3
    if seconds := os.environ.get("AGENT_CHILD"):
        subprocess.Popen(["sh", "-c", f"trap '' TERM; sleep {seconds}"])
    time.sleep(float(os.environ.get("AGENT_SLEEP", "0")))
    if text := os.environ.get("AGENT_CHANGE"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
    if not os.environ.get("AGENT_SILENT"):
        report(archive_id, task_id)
    return int(os.environ.get("AGENT_EXIT", "0"))


def report(archive_id: str, task_id: str) -> None:
    bucket = datetime.now().strftime("%Y-%m-%d-%H-%M-%S")
    folder = Path("archives") / archive_id / bucket
    folder.mkdir(parents=True, exist_ok=True)
    final = folder / "report.md"
    draft = folder / ".report.md.tmp"
    draft.write_text(f"# Report\n\nTask {task_id} is done.\n", encoding="utf-8")
    os.replace(draft, final)
    assert final.read_text(encoding="utf-8").startswith("# Report")
    print(f"""Done.

ARCHIVE_STATUS: OK
ARCHIVE_ROOT: archives/{archive_id}/

```json
{{
  "type": "archive_grid",
  "data": {{
    "type": "file",
    "archive_root": "archives/{archive_id}",
    "subpath": "{bucket}/report.md",
    "name": "report.md"
  }}
}}
```""")


if __name__ == "__main__":
    sys.exit(main())
