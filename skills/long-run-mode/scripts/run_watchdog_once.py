#!/usr/bin/env python3
"""One watchdog pass with its recovery plan; with --send the messages are really tried, one by one."""

import sys

sys.dont_write_bytecode = True

import ocw_client  # noqa: E402

if __name__ == "__main__":
    parser = ocw_client.parser(__doc__)
    parser.add_argument("--send", action="store_true")
    ocw_client.run(parser.parse_args(), "longrun.watchdog.run")
