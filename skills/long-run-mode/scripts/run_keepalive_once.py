#!/usr/bin/env python3
"""One keepalive pass. It makes a plan; only LONG_RUN_MODE_AUTO_RESUME=1 carries it out."""

import os
import sys

sys.dont_write_bytecode = True

import ocw_client  # noqa: E402

if __name__ == "__main__":
    parser = ocw_client.parser(__doc__)
    parser.add_argument("--idle-seconds", type=int, default=60)
    arguments = parser.parse_args()
    # Said either way: what the server is set to must not send for a caller that did not switch it on.
    params = {
        "idleSeconds": arguments.idle_seconds,
        "autoResume": os.environ.get("LONG_RUN_MODE_AUTO_RESUME") == "1",
    }
    answer = ocw_client.ask("longrun.keepalive.run", params, agent=arguments.agent)
    ocw_client.finish(answer, one_line=arguments.json)
