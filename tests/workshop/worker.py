"""A real process of ours for crash and race tests: reads one JSON request a line, prints one JSON answer a line.

`{"method": …, "params": …}` calls a method; `{"service": "roll_back" | "recover", …}` a service; `{"page": …}` opens
a page as a viewer; `{"become": …}` makes it a process of another account; `{"sql": …}` asks the database. Started with `OPENCLAW_WEB_FAULT` it dies where that says.
"""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openclaw_web.settings")

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth.models import Group  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402

from gateway import registry  # noqa: E402
from gateway.callers import command_caller  # noqa: E402
from gateway.errors import AppError  # noqa: E402
from gateway.models import User  # noqa: E402
from gateway.registry import RpcError  # noqa: E402
from workshop import tasks  # noqa: E402
from workshop.doctor import examine  # noqa: E402
from workshop.services.rollbacks import roll_back_proposal  # noqa: E402


def answer(request):
    caller = command_caller()
    try:
        if "method" in request:
            return {"ok": True, "payload": registry.call(request["method"], request["params"], caller)}
        if request.get("service") == "roll_back":
            proposal = roll_back_proposal(request["agent"], request["id"], caller=caller)
            return {"ok": True, "payload": proposal.status}
        if request.get("service") == "recover":
            return {"ok": True, "payload": tasks.recover()}
        if request.get("service") == "doctor":
            report = examine(fix=True)
            return {"ok": True, "payload": [[finding.code, finding.done] for finding in report.findings]}
        if "page" in request:
            response = viewer().get(request["page"])
            return {
                "ok": True,
                "payload": {"status": response.status_code, "text": response.content.decode()},
            }
        if "become" in request:
            connection.close()
            os.setgroups([])
            os.setgid(request["become"])
            os.setuid(request["become"])
            return {"ok": True, "payload": os.getuid()}
        with connection.cursor() as cursor:
            cursor.execute(request["sql"])
            return {"ok": True, "payload": [list(map(str, row)) for row in cursor.fetchall()]}
    except RpcError as error:
        return {"ok": False, "error": error.as_dict()}
    except AppError as error:
        return {"ok": False, "error": {"code": error.code, "message": error.message}}


def viewer():
    """A browser that may look."""
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    user, _made = User.objects.get_or_create(username="viewer")
    user.groups.set([Group.objects.get_or_create(name="viewer")[0]])
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    return client


print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
