#!/usr/bin/env python3
"""The inbox of a session: `fetch` what lies there, `ack` what you have read. Only `ack` makes it received."""

import sys

sys.dont_write_bytecode = True

import ocw_client  # noqa: E402

if __name__ == "__main__":
    parser = ocw_client.parser(__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    fetch = verbs.add_parser("fetch", help="the messages for a session, oldest first")
    fetch.add_argument("--session-key", required=True)
    fetch.add_argument("--limit", type=int, default=20)
    ack = verbs.add_parser("ack", help="these messages were received")
    ack.add_argument("ids", type=int, nargs="+")
    for verb in (fetch, ack):
        verb.add_argument("--json", action="store_true", default=ocw_client.argparse.SUPPRESS)
        verb.add_argument("--agent", default=ocw_client.argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.verb == "fetch":
        params = {"sessionKey": arguments.session_key, "limit": arguments.limit}
        answer = ocw_client.ask("deliveries.inbox", params, agent=arguments.agent)
    else:
        answer = ocw_client.ask("longrun.acknowledge", {"ids": arguments.ids}, agent=arguments.agent)
    ocw_client.finish(answer, one_line=arguments.json)
