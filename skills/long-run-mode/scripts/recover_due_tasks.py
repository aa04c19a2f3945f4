#!/usr/bin/env python3
"""What to do about each task that the watchdog finds. Changes nothing."""

import sys

sys.dont_write_bytecode = True

import ocw_client  # noqa: E402

if __name__ == "__main__":
    parser = ocw_client.parser(__doc__)
    ocw_client.run(parser.parse_args(), "longrun.recovery.suggest")
