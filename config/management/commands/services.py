import signal
import sys
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from config import embedded

SECONDS_BETWEEN_LOOKS = 0.5


class Command(BaseCommand):
    help = "Runs this machine's own PostgreSQL and Valkey in the foreground; idles where URLs name others."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        told_to_stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: told_to_stop.set())
        own = embedded.held(var_dir=settings.VAR_DIR)
        for name, url in (("DATABASE_URL", settings.DATABASE_URL), ("REDIS_URL", settings.REDIS_URL)):
            is_own = url in own.values()
            self.stdout.write(
                f"{name}={url}" if is_own else f"{name} is set; nothing of our own is started for it."
            )
        while not told_to_stop.wait(SECONDS_BETWEEN_LOOKS):
            for server in own:
                if not embedded.has_keeper(server, var_dir=settings.VAR_DIR):
                    self.stderr.write(f"The server {server} has ended; see {settings.VAR_DIR / 'log'}.")
                    sys.exit(1)
        embedded.detach(var_dir=settings.VAR_DIR)
