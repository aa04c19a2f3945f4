#!/usr/bin/env python3
"""Audits the long-run tasks: lost, stuck, overdue, or at their checkpoint. Changes nothing."""

import sys

sys.dont_write_bytecode = True

import ocw_client  # noqa: E402

if __name__ == "__main__":
    parser = ocw_client.parser(__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    check = verbs.add_parser("check", help="what is found now")
    check.add_argument("--json", action="store_true", default=ocw_client.argparse.SUPPRESS)
    check.add_argument("--agent", default=ocw_client.argparse.SUPPRESS)
    ocw_client.run(parser.parse_args(), "longrun.watchdog.check")
