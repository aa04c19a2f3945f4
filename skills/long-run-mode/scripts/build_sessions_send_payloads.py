#!/usr/bin/env python3
"""The recovery messages that have not arrived, as sessions_send payloads. A payload is not a sending."""

import sys

sys.dont_write_bytecode = True

import ocw_client  # noqa: E402

if __name__ == "__main__":
    arguments = ocw_client.parser(__doc__).parse_args()
    answer = ocw_client.ask("longrun.recovery.payloads", {}, agent=arguments.agent)
    ocw_client.finish(ocw_client.with_commands(answer, "payloads"), one_line=arguments.json)
