#!/usr/bin/env python3
"""The due progresses as a plan of sessions_send calls. Whoever carries the plan out does the sending."""

import sys

sys.dont_write_bytecode = True

import ocw_client  # noqa: E402

if __name__ == "__main__":
    arguments = ocw_client.parser(__doc__).parse_args()
    answer = ocw_client.ask("longrun.foreground.dispatch", {}, agent=arguments.agent)
    ocw_client.finish(ocw_client.with_commands(answer, "plan"), one_line=arguments.json)
