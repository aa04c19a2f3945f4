#!/usr/bin/env python3
"""Checks that a task is bound to exactly the expected session; only its `ok: true` allows claiming a start."""

import sys

sys.dont_write_bytecode = True

import ocw_client  # noqa: E402

if __name__ == "__main__":
    parser = ocw_client.parser(__doc__)
    parser.add_argument("--task", required=True)
    parser.add_argument("--expect-session-key", required=True)
    arguments = parser.parse_args()
    params = {"task": arguments.task, "expectSessionKey": arguments.expect_session_key}
    seen = ocw_client.session_in_index(arguments.expect_session_key)
    if seen is not None:
        params["sessionSeen"] = seen
    answer = ocw_client.ask("longrun.validateStart", params, agent=arguments.agent)
    if answer.get("reasons"):
        print("\n".join(answer["reasons"]), file=sys.stderr)
    ocw_client.finish(answer, one_line=arguments.json)
