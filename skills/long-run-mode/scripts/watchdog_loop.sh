#!/bin/sh
# Runs watchdog passes in a loop: every EVERY seconds (default 60), COUNT times (default: without end).
#   watchdog_loop.sh [EVERY] [COUNT]
# Every pass prints its JSON, also into LOG_FILE where that is set; errors go to standard error.
# Ends with the exit status of the last pass.
set -u
here=$(cd "$(dirname "$0")" && pwd)
every=${1:-60}
count=${2:-0}
case "$every$count" in *[!0-9]*) echo "usage: watchdog_loop.sh [EVERY-SECONDS] [COUNT]" >&2; exit 2 ;; esac
done=0
while :; do
  status=0
  answer=$(python3 "$here/run_watchdog_once.py" --send --json) || status=$?
  if [ -n "$answer" ]; then
    printf '%s\n' "$answer"
    [ -z "${LOG_FILE:-}" ] || printf '%s\n' "$answer" >> "$LOG_FILE"
  fi
  done=$((done + 1))
  [ "$count" -ne 0 ] && [ "$done" -ge "$count" ] && exit "$status"
  sleep "$every"
done
