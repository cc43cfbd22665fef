import errno
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
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config import embedded, servers
from config.environment import is_this_machine
from config.logs import LogFormat
from config.management.commands.seed_demo import COMMUNITY as DEMO_NAME
from config.management.commands.seed_demo import COMMUNITY_ID as DEMO_COMMUNITY
from config.management.commands.seed_demo import demo_file

SECONDS_BETWEEN_NOTICES = 30  # A notice is repeated after this time while the web server does not answer yet.
WELCOME = """
Colloquy is running. Press Ctrl-C to stop it.

{pages}
  API documentation    {site}/docs
  Sign in              {site}/account/login/
  Admin                {site}/admin/   (user {admin_username}, password {admin_password})
  API key              {api_key}   (kept in {demo_file})

  curl -H 'X-API-Key: {api_key}' {site}/v1/communities/{community_id}/projects
{notes}
`{reset}` deletes all data of this installation, to start over.
"""
PAGES = {  # The pages by their role in the demo. An older demo may lack some of them.
    "survey": "Survey               {address}",
    "poll": "Poll                 {address}",
    "results": "Survey results       {address}",
    "piece": "Personality quiz     {address}",
    "quiz": "Graded quiz          {address}   (sign in to the admin first to earn XP)",
}
PROCFILE = settings.BASE_DIR / "config" / "deploy" / "Procfile"
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
        demo = _start_chat_demo(self.stdout) if _wants_chat_demo() else None
        processes = _start_processes(demo.environment if demo else {})
        stopping = threading.Event()

        def stop(*_: object) -> None:
            stopping.set()
            processes.terminate()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, stop)
        threading.Thread(target=self._welcome, args=(demo, processes), daemon=True).start()
        code = processes.wait()
        if demo is not None:
            demo.process.terminate()
        embedded.detach(var_dir=settings.VAR_DIR)
        sys.exit(0 if stopping.is_set() else 1 if code == 0 else abs(code))

    def _prepare(self) -> None:
        self.stdout.write("Preparing the database, the demo and static files ...")
        self.stdout.flush()
        static_files = _manage("collectstatic", "--no-input", "--verbosity=0")
        for command in ("migrate", "seed_demo"):
            _wait(_manage(command, "--verbosity=0"))
        _wait(static_files)

    def _welcome(self, chat: "ChatDemo | None", processes: "subprocess.Popen[bytes]") -> None:
        """Print the addresses once the web server answers. On a slow machine the web server needs minutes."""
        notice_at = time.monotonic() + SECONDS_BETWEEN_NOTICES
        while obstacle := _obstacle():
            if processes.poll() is not None:
                self.stderr.write("The processes have ended. The messages above say why.")
                return
            if time.monotonic() >= notice_at:
                self.stdout.write(f"Still waiting: the processes run, but {obstacle}.")
                self.stdout.flush()
                notice_at = time.monotonic() + SECONDS_BETWEEN_NOTICES
            time.sleep(0.2)
        demo = json.loads(demo_file().read_text())
        self.stdout.write(_welcome_text(demo, chat_page=chat.page if chat else ""))
        self.stdout.flush()
        if chat is not None:
            _wait(_manage("seed_chat_demo", environment=chat.environment))


def _welcome_text(demo: dict[str, str], *, chat_page: str = "") -> str:
    site = settings.BASE_URL
    pages = [f"  {line.format(address=site + demo[role])}" for role, line in PAGES.items() if role in demo]
    folder = getattr(settings, "EMAIL_FILE_PATH", None)
    notes = f"\nMails are not sent: each is a file in {folder}.\n" if folder else ""
    if _local_webhooks():
        notes += "\nWebhooks may use http and addresses of this machine, such as http://127.0.0.1:9000/.\n"
    if chat_page:
        notes += f"\nA chat platform of this machine, with a survey and a poll to answer: {chat_page}\n"
    reset = "make reset" if settings.HOME_DIR == settings.BASE_DIR else "colloquy reset"
    return WELCOME.format(
        site=site, pages="\n".join(pages), notes=notes, demo_file=demo_file(), reset=reset, **demo
    )


def _is_for_this_machine() -> bool:
    """Whether the site has a local address and listens only on the loopback interface."""
    hosts = (str(urlsplit(settings.BASE_URL).hostname), settings.BIND)
    return all(is_this_machine(host) for host in hosts)


def _local_webhooks() -> dict[str, str]:
    """The settings that allow webhooks to this machine, unless the user has set them."""
    if not _is_for_this_machine():
        return {}
    return {name: value for name, value in LOCAL_WEBHOOKS.items() if name not in os.environ}


def _check_address() -> None:
    """Refuse an address on which the web server could not listen."""
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


def _manage(*command: str, environment: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "config", *command],
        cwd=settings.HOME_DIR,
        env=os.environ | (environment or {}),
    )


def _wait(process: "subprocess.Popen[bytes]") -> None:
    if process.wait():
        raise CommandError("Colloquy could not be prepared. The messages above say why.")


@dataclass(frozen=True)
class ChatDemo:
    """The loopback chat platform: its process, its page, and the variables for using it."""

    process: "subprocess.Popen[str]"
    page: str
    environment: dict[str, str]


def _wants_chat_demo() -> bool:
    """Whether CHAT_DEMO asks for the loopback chat platform. A configured real platform has priority."""
    return os.environ.get("CHAT_DEMO", "") not in ("", "0") and settings.CHAT is None


def _start_chat_demo(stdout: Any) -> ChatDemo:
    """Start the chat platform of the tests as a server of this machine, which no other machine can reach."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "tests.support.chat", str(port)),
            *("--guild", str(DEMO_COMMUNITY), "--name", DEMO_NAME),
            *("--interactions-url", f"http://127.0.0.1:{settings.PORT}/chat/interactions"),
        ],
        cwd=settings.HOME_DIR,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: servers.die_with_parent(signal.SIGTERM),
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise CommandError("The chat demo could not be started. The messages above say why.")
    environment: dict[str, str] = json.loads(line)
    return ChatDemo(process, environment.pop("page"), environment)


def _start_processes(more: dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start honcho, which runs the processes of the Procfile, and stops all of them when one ends."""
    environment = os.environ | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "PORT": str(settings.PORT),
        "BASE_URL": settings.BASE_URL,  # honcho gives each process its own PORT.
        "SECRET_KEY": settings.SECRET_KEY,
        **_local_webhooks(),
        **more,
    }
    if sys.stdout.isatty():
        environment["COLLOQUY_LOGS"] = LogFormat.PREFIXED
    return subprocess.Popen(
        [sys.executable, "-m", "honcho", "start", "--procfile", str(PROCFILE)],
        cwd=settings.HOME_DIR,
        env=environment,
        start_new_session=True,  # Only this process gets Ctrl-C, and passes it on once.
        preexec_fn=lambda: servers.die_with_parent(signal.SIGTERM),
    )


def _obstacle() -> str:
    """A sentence about what the site still waits for; empty once `/readyz` returns 200."""
    host = settings.BIND
    with suppress(ValueError):
        if ip_address(host).is_unspecified:  # An unspecified address means all interfaces.
            host = "127.0.0.1"
    request = urllib.request.Request(
        f"http://{f'[{host}]' if ':' in host else host}:{settings.PORT}/readyz",
        headers={"Host": urlsplit(settings.BASE_URL).netloc},
    )
    try:
        with urllib.request.urlopen(request, timeout=2):
            return ""
    except urllib.error.HTTPError as refusal:
        with refusal, suppress(ValueError):
            states = json.loads(refusal.read())
            waiting = [f"{name} is {state}" for name, state in states.items() if state != "ok"]
            return f"{settings.BASE_URL}/readyz says: {', '.join(waiting)}"
        return f"{settings.BASE_URL}/readyz returns {refusal.code}"
    except OSError:
        return f"{settings.BASE_URL}/readyz does not answer yet"
