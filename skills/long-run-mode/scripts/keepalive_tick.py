#!/usr/bin/env python3
"""Says whether one task is at work and silent for too long. Changes nothing."""

import sys

sys.dont_write_bytecode = True

import ocw_client  # noqa: E402

if __name__ == "__main__":
    parser = ocw_client.parser(__doc__)
    parser.add_argument("--task", required=True)
    parser.add_argument("--idle-seconds", type=int, default=60)
    ocw_client.run(parser.parse_args(), "longrun.keepalive.tick")
