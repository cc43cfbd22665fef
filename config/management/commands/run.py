import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config import embedded, servers

SECONDS_TO_READY = 120
WELCOME = """
Colloquy is running. Ctrl-C ends it.

{pages}
  The interface        {site}/docs
  The admin            {site}/admin/   (user {admin_username}, password {admin_password})
  An API key           {api_key}

  curl -H 'X-API-Key: {api_key}' {site}/v1/communities/{community_id}/projects
"""
PAGES = {  # by their role in the demo; one that was seeded earlier may lack some
    "survey": "A survey to answer   {address}",
    "poll": "A poll to vote in    {address}",
    "results": "The survey's results {address}",
    "piece": "A personality quiz   {address}",
    "quiz": "A graded quiz        {address}   (who is signed in to the admin earns XP)",
}


class Command(BaseCommand):
    help = "Prepares this machine, starts every process of the Procfile, and says where to look."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        _refuse_taken_port()
        self._prepare()
        processes = _start_processes()
        told_to_stop = threading.Event()

        def stop(*_: object) -> None:
            told_to_stop.set()
            processes.terminate()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, stop)
        threading.Thread(target=self._welcome, daemon=True).start()
        code = processes.wait()
        embedded.detach(var_dir=settings.VAR_DIR)
        sys.exit(0 if told_to_stop.is_set() else 1 if code == 0 else abs(code))

    def _prepare(self) -> None:
        self.stdout.write("Preparing tables, demo and static files ...")
        tables_then_demo = [["migrate", "--verbosity=0"], ["seed_demo", "--verbosity=0"]]
        static_files = _manage(["collectstatic", "--no-input", "--verbosity=0"])
        for command in tables_then_demo:
            _finish(_manage(command))
        _finish(static_files)

    def _welcome(self) -> None:
        deadline = time.monotonic() + SECONDS_TO_READY
        while not _answers():
            if time.monotonic() > deadline:
                self.stderr.write("The web server does not answer; what is written above may say why.")
                return
            time.sleep(0.2)
        demo = json.loads((settings.VAR_DIR / "demo.json").read_text())
        site = settings.BASE_URL
        pages = [
            f"  {told.format(address=site + demo[role])}" for role, told in PAGES.items() if role in demo
        ]
        self.stdout.write(WELCOME.format(site=site, pages="\n".join(pages), **demo))
        self.stdout.flush()


def _refuse_taken_port() -> None:
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind((os.environ.get("BIND", "127.0.0.1"), settings.PORT))
        except OSError as failure:
            raise CommandError(
                f"PORT is {settings.PORT}, which cannot be used ({failure.strerror}): set another one."
            ) from failure


def _manage(command: list[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "manage.py", *command], cwd=settings.BASE_DIR)


def _finish(process: "subprocess.Popen[bytes]") -> None:
    if process.wait():
        raise CommandError("Colloquy could not be prepared; the lines above say why.")


def _start_processes() -> "subprocess.Popen[bytes]":
    """honcho, which ends all processes when one of them ends, or when this one does."""
    environment = os.environ | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "PORT": str(settings.PORT),
        "BASE_URL": settings.BASE_URL,  # honcho gives every process a PORT of its own
        "SECRET_KEY": settings.SECRET_KEY,
    }
    return subprocess.Popen(
        [sys.executable, "-m", "honcho", "start"],
        cwd=settings.BASE_DIR,
        env=environment,
        start_new_session=True,  # Ctrl-C comes here first, and is passed on once
        preexec_fn=lambda: servers.die_with_parent(signal.SIGTERM),
    )


def _answers() -> bool:
    request = urllib.request.Request(
        f"http://127.0.0.1:{settings.PORT}/readyz", headers={"Host": urlsplit(settings.BASE_URL).netloc}
    )
    try:
        with urllib.request.urlopen(request, timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False
