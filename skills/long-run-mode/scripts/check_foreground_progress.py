#!/usr/bin/env python3
"""Says whether a short progress of one task is due. Changes nothing."""

import sys

sys.dont_write_bytecode = True

import ocw_client  # noqa: E402

if __name__ == "__main__":
    parser = ocw_client.parser(__doc__)
    parser.add_argument("--task", required=True)
    ocw_client.run(parser.parse_args(), "longrun.foreground.check")
