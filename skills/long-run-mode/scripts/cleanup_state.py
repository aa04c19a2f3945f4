#!/usr/bin/env python3
"""Shows what is old, left from tests or unbound; with --apply it is exported and removed."""

import sys

sys.dont_write_bytecode = True

import ocw_client  # noqa: E402

if __name__ == "__main__":
    parser = ocw_client.parser(__doc__)
    parser.add_argument("--older-days", type=int, default=30)
    parser.add_argument("--apply", action="store_true")
    ocw_client.run(parser.parse_args(), "longrun.cleanup")
