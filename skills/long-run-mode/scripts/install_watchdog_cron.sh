#!/bin/sh
# Shows the crontab line that runs one watchdog pass a minute; with --apply it is put into this user's crontab,
# once. The dashboard's own cluster already does this: the line is for hosts where only cron runs.
# LOG_FILE names the log (default: in the user's state folder, never inside the skill). Prints JSON.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
log=${LOG_FILE:-${XDG_STATE_HOME:-$HOME/.local/state}/openclaw-web/watchdog.log}
mark="# openclaw-web long-run watchdog"
quote() { printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"; }
# In a crontab a bare % ends the command.
line=$(printf '* * * * * %s %s --send --json >> %s 2>&1 %s' "$(command -v python3)" "$(quote "$here/run_watchdog_once.py")" "$(quote "$log")" "$mark" | sed 's/%/\\%/g')
installed=false
if [ "${1:-}" = "--apply" ]; then
  command -v crontab >/dev/null 2>&1 || { echo "install_watchdog_cron.sh: there is no crontab program on this host" >&2; exit 3; }
  mkdir -p "$(dirname "$log")"
  # Read wholly before it is replaced; a table that cannot be read is left alone.
  if ! table=$(crontab -l 2>/dev/null); then
    why=$(LC_ALL=C crontab -l 2>&1 >/dev/null || true)
    case "$why" in
      *"no crontab for"* | *"No such file"*) table= ;;
      *) echo "install_watchdog_cron.sh: the crontab cannot be read, so it was not changed: $why" >&2; exit 3 ;;
    esac
  fi
  others=$(printf '%s\n' "$table" | grep -vF "$mark" || true)
  printf '%s\n' ${others:+"$others"} "$line" | crontab -
  installed=true
elif [ $# -gt 0 ]; then
  echo "usage: install_watchdog_cron.sh [--apply]" >&2
  exit 2
fi
LINE=$line LOG=$log INSTALLED=$installed python3 -c '
import json, os
print(json.dumps({"ok": True, "installed": os.environ["INSTALLED"] == "true",
                  "line": os.environ["LINE"], "log": os.environ["LOG"]}, ensure_ascii=False))'
