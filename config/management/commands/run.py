import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config import embedded, servers
from config.environment import is_this_machine
from config.logs import LogFormat

SECONDS_UNTIL_READY = 120
WELCOME = """
Colloquy is running. Press Ctrl-C to stop it.

{pages}
  API documentation    {site}/docs
  Sign in              {site}/account/login/
  Admin                {site}/admin/   (user {admin_username}, password {admin_password})
  API key              {api_key}

  curl -H 'X-API-Key: {api_key}' {site}/v1/communities/{community_id}/projects
{notes}
`make reset` deletes all data of this installation, to start over.
"""
PAGES = {  # by role in the demo; a demo of an earlier version may lack some
    "survey": "Survey               {address}",
    "poll": "Poll                 {address}",
    "results": "Survey results       {address}",
    "piece": "Personality quiz     {address}",
    "quiz": "Graded quiz          {address}   (sign in to the admin first to earn XP)",
}
LOCAL_WEBHOOKS = {"WEBHOOKS_ALLOW_HTTP": "true", "WEBHOOKS_ALLOW_PRIVATE_NETWORKS": "true"}


class Command(BaseCommand):
    help = (
        "Prepares the database, seeds the demo, starts the processes of the Procfile and prints addresses. "
        "Webhooks may use http and addresses of this machine if the site is for this machine only, "
        "unless WEBHOOKS_ALLOW_HTTP and WEBHOOKS_ALLOW_PRIVATE_NETWORKS are set."
    )
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        _check_address()
        self._prepare()
        processes = _start_processes()
        stopping = threading.Event()

        def stop(*_: object) -> None:
            stopping.set()
            processes.terminate()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, stop)
        threading.Thread(target=self._welcome, daemon=True).start()
        code = processes.wait()
        embedded.detach(var_dir=settings.VAR_DIR)
        sys.exit(0 if stopping.is_set() else 1 if code == 0 else abs(code))

    def _prepare(self) -> None:
        self.stdout.write("Preparing the database, the demo and static files ...")
        self.stdout.flush()
        static_files = _manage("collectstatic", "--no-input", "--verbosity=0")
        for command in ("migrate", "seed_demo"):
            _wait(_manage(command, "--verbosity=0"))
        _wait(static_files)

    def _welcome(self) -> None:
        deadline = time.monotonic() + SECONDS_UNTIL_READY
        while not _is_ready():
            if time.monotonic() > deadline:
                self.stderr.write("The web server does not answer. The messages above may say why.")
                return
            time.sleep(0.2)
        demo = json.loads((settings.VAR_DIR / "demo.json").read_text())
        self.stdout.write(_welcome_text(demo))
        self.stdout.flush()


def _welcome_text(demo: dict[str, str]) -> str:
    site = settings.BASE_URL
    pages = [f"  {line.format(address=site + demo[role])}" for role, line in PAGES.items() if role in demo]
    folder = getattr(settings, "EMAIL_FILE_PATH", None)
    notes = f"\nMails are not sent: each is a file in {folder}.\n" if folder else ""
    if _local_webhooks():
        notes += "\nWebhooks may use http and addresses of this machine, such as http://127.0.0.1:9000/.\n"
    return WELCOME.format(site=site, pages="\n".join(pages), notes=notes, **demo)


def _is_for_this_machine() -> bool:
    """Whether the site has a local address and listens on the loopback interface alone."""
    hosts = (str(urlsplit(settings.BASE_URL).hostname), settings.BIND)
    return all(is_this_machine(host) for host in hosts)


def _local_webhooks() -> dict[str, str]:
    """The settings that allow webhooks to this machine, as far as the user has not set them."""
    if not _is_for_this_machine():
        return {}
    return {name: value for name, value in LOCAL_WEBHOOKS.items() if name not in os.environ}


def _check_address() -> None:
    """Refuse an address that the web server could not listen on."""
    try:
        addresses = socket.getaddrinfo(settings.BIND, settings.PORT, type=socket.SOCK_STREAM)
        family, kind, _, _, address = addresses[0]
        with socket.socket(family, kind) as attempt:
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            attempt.bind(address)
    except OSError as error:
        if error.errno in {errno.EADDRINUSE, errno.EACCES}:
            raise CommandError(
                f"PORT is {settings.PORT}, which cannot be used ({error.strerror}): set another port."
            ) from error
        raise CommandError(
            f"BIND is {settings.BIND}, which cannot be used ({error.strerror}): "
            "set it to an address of this machine, like 127.0.0.1 or 0.0.0.0."
        ) from error


def _manage(*command: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "manage.py", *command], cwd=settings.BASE_DIR)


def _wait(process: "subprocess.Popen[bytes]") -> None:
    if process.wait():
        raise CommandError("Colloquy could not be prepared. The messages above say why.")


def _start_processes() -> "subprocess.Popen[bytes]":
    """Start honcho, which runs the processes of the Procfile, and stops all of them when one ends."""
    environment = os.environ | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "PORT": str(settings.PORT),
        "BASE_URL": settings.BASE_URL,  # honcho gives each process a PORT of its own
        "SECRET_KEY": settings.SECRET_KEY,
        **_local_webhooks(),
    }
    if sys.stdout.isatty():
        environment["COLLOQUY_LOGS"] = LogFormat.PREFIXED
    return subprocess.Popen(
        [sys.executable, "-m", "honcho", "start"],
        cwd=settings.BASE_DIR,
        env=environment,
        start_new_session=True,  # only this process gets Ctrl-C, and passes it on once
        preexec_fn=lambda: servers.die_with_parent(signal.SIGTERM),
    )


def _is_ready() -> bool:
    host = settings.BIND
    with suppress(ValueError):
        if ip_address(host).is_unspecified:  # all interfaces
            host = "127.0.0.1"
    request = urllib.request.Request(
        f"http://{f'[{host}]' if ':' in host else host}:{settings.PORT}/readyz",
        headers={"Host": urlsplit(settings.BASE_URL).netloc},
    )
    try:
        with urllib.request.urlopen(request, timeout=2) as response:
            return bool(response.status == 200)
    except OSError:
        return False
