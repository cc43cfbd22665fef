import signal
import sys
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from config import embedded

SECONDS_BETWEEN_CHECKS = 0.5


class Command(BaseCommand):
    help = (
        "Runs the embedded PostgreSQL and Valkey in the foreground and prints their URLs. "
        "Does nothing for a server whose URL is set."
    )
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        stopping = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        embedded_urls = embedded.attached_urls(var_dir=settings.VAR_DIR)
        for name, url in (("DATABASE_URL", settings.DATABASE_URL), ("REDIS_URL", settings.REDIS_URL)):
            is_embedded = url in embedded_urls.values()
            self.stdout.write(
                f"{name}={url}" if is_embedded else f"{name} is set: no embedded server is used."
            )
        self.stdout.flush()
        while not stopping.wait(SECONDS_BETWEEN_CHECKS):
            for server in embedded_urls:
                if not embedded.has_keeper(server, var_dir=settings.VAR_DIR):
                    self.stderr.write(
                        f"The embedded {server} has ended unexpectedly: see {settings.VAR_DIR / 'log'}."
                    )
                    sys.exit(1)
        embedded.detach(var_dir=settings.VAR_DIR)
