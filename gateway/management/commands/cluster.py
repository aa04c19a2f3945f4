"""`manage.py cluster`: background work. `script/server` starts it beside the web server."""

import signal
from typing import Any

from django.core.management.base import BaseCommand
from django_q.conf import Conf

from gateway.cluster_process import Keeper, die_with_parent
from gateway.schedules import ensure_schedules


class Command(BaseCommand):
    help = (
        "Runs background work (Django-Q) and writes its heartbeat. SIGTERM or Ctrl-C lets running tasks end."
    )

    def handle(self, **options: Any) -> None:
        keeper = Keeper(say=self.stderr.write)
        signal.signal(signal.SIGTERM, keeper.stop)
        signal.signal(signal.SIGINT, keeper.stop)
        if Conf.CLUSTER_NAME == Conf.PREFIX:  # schedules are the main cluster's
            ensure_schedules()
        die_with_parent()
        keeper.run()
