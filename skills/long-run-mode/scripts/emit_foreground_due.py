#!/usr/bin/env python3
"""All short progresses that are due, as events: generated, not sent."""

import sys

sys.dont_write_bytecode = True

import ocw_client  # noqa: E402

if __name__ == "__main__":
    parser = ocw_client.parser(__doc__)
    ocw_client.run(parser.parse_args(), "longrun.foreground.due")
