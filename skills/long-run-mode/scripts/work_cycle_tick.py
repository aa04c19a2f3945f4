#!/usr/bin/env python3
"""After every turn of the work loop: what was done, and must a progress be sent before going on?"""

import sys

sys.dont_write_bytecode = True

import ocw_client  # noqa: E402

if __name__ == "__main__":
    parser = ocw_client.parser(__doc__)
    parser.add_argument("--task", required=True)
    parser.add_argument("--step", help="what this turn has done")
    parser.add_argument("--focus", help="what is being looked at")
    parser.add_argument("--next", help="the next step")
    ocw_client.run(parser.parse_args(), "longrun.workCycle")
