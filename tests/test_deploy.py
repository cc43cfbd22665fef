"""The files of `config/deploy`: proxies in front of a site with https, units of systemd, and containers."""

from __future__ import annotations

import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.message import Message
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.installation import Installation, installed

pytestmark = pytest.mark.long

DEPLOY = Path(__file__).resolve().parent.parent / "config" / "deploy"
HOST = "surveys.example.org"
LIMIT = 60  # seconds
MEBIBYTE = 1_048_576
PROXIES = ("nginx", "haproxy", "caddy")


def require_program(name: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"needs {name}, which `.ci/run` installs where Debian has it")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


def certificate(folder: Path) -> Path:
    """A file with a key and a certificate of the host, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "site.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return file


def replaced(text: str, *pairs: tuple[str, object]) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, str(new))
    return text


class Front:
    """A proxy, with its file as it is but for ports and paths."""

    def __init__(self, name: str, folder: Path, upstream: int) -> None:
        require_program(name)
        self.log = folder / "proxy.log"
        self.counts = (
            name == "caddy"
        )  # Caddy refuses a body that is too large once it has come; others by its length.
        # Addresses of clients that use no other proxy.
        self.clients = [f"127.0.{PROXIES.index(name)}.{number}" for number in (2, 3)]
        self.http, self.https = free_port(), free_port()
        self.command, self.environment = getattr(self, f"_{name}")(folder, upstream)

    def _nginx(self, folder: Path, upstream: int) -> tuple[list[str], dict[str, str]]:
        pem = certificate(folder)
        server = replaced(
            (DEPLOY / "nginx.conf").read_text(),
            ("listen 80;", f"listen {self.http};"),
            ("listen 443 ssl;", f"listen {self.https} ssl;"),
            ("127.0.0.1:8000", f"127.0.0.1:{upstream}"),
            (f"/etc/letsencrypt/live/{HOST}/fullchain.pem", pem),
            (f"/etc/letsencrypt/live/{HOST}/privkey.pem", pem),
        )
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        folders = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
        main = folder / "nginx.conf"
        main.write_text(
            f"daemon off; pid {folder}/pid; error_log stderr; events {{}}\n"
            f"http {{ access_log {self.log}; {folders}\n{server}}}\n"
        )
        return ["nginx", "-e", "stderr", "-c", str(main)], {}

    def _haproxy(self, folder: Path, upstream: int) -> tuple[list[str], dict[str, str]]:
        file = folder / "haproxy.cfg"
        file.write_text(
            replaced(
                (DEPLOY / "haproxy.cfg").read_text(),
                ("bind :80\n", f"bind 127.0.0.1:{self.http}\n"),
                ("bind :443 ", f"bind 127.0.0.1:{self.https} "),
                ("127.0.0.1:8000", f"127.0.0.1:{upstream}"),
                (f"/etc/haproxy/{HOST}.pem", certificate(folder)),
            )
        )
        return ["haproxy", "-db", "-f", str(file)], {}

    def _caddy(self, folder: Path, upstream: int) -> tuple[list[str], dict[str, str]]:
        file = folder / "Caddyfile"
        options = (
            f"admin off\nhttp_port {self.http}\nhttps_port {self.https}\nlocal_certs\nskip_install_trust\n"
        )
        file.write_text(
            f"{{\n{options}}}\n"
            + replaced((DEPLOY / "Caddyfile").read_text(), ("127.0.0.1:8000", f"127.0.0.1:{upstream}"))
        )
        home = {name: str(folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        return ["caddy", "run", "--adapter", "caddyfile", "--config", str(file)], home

    @contextmanager
    def running(self) -> Iterator[None]:
        with self.log.open("ab") as output:
            process = subprocess.Popen(
                self.command,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        try:
            self._wait(process)
            yield
        finally:
            process.terminate()
            process.wait(timeout=LIMIT)

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until the proxy speaks TLS, and has seen that the site works."""
        deadline = time.monotonic() + LIMIT
        while process.poll() is None:
            assert time.monotonic() < deadline
            try:
                if self.ask("GET", "/readyz")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise AssertionError(self.log.read_text())

    @contextmanager
    def connected(self, *, source: str = "127.0.0.1", secure: bool = True) -> Iterator[HTTPConnection]:
        """A connection to the proxy under the site's name, from an address of this machine."""
        port = self.https if secure else self.http
        plain = socket.create_connection(("127.0.0.1", port), LIMIT, (source, 0))
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = HTTPConnection(HOST, timeout=LIMIT)
        with ExitStack() as stack:
            stack.enter_context(plain)
            connection.sock = (
                stack.enter_context(context.wrap_socket(plain, server_hostname=HOST)) if secure else plain
            )
            yield connection

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        source: str = "127.0.0.1",
        secure: bool = True,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Message, bytes]:
        with self.connected(source=source, secure=secure) as connection:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A site with https behind one proxy."""
    settings = {"BASE_URL": f"https://{HOST}", "TRUSTED_PROXIES": "1"}
    with installed(tmp_path_factory.mktemp("var"), **settings) as (here, _):
        yield here


@pytest.fixture(params=PROXIES)
def front(request: pytest.FixtureRequest, site: Installation, tmp_path: Path) -> Iterator[Front]:
    made = Front(request.param, tmp_path, site.port)
    with made.running():
        yield made


def responses(size: int) -> bytes:
    """A body of an import with about this many bytes, which is read as JSON."""
    return b'{"data": ' + b" " * size + b"[]}"


def test_a_proxy_passes_on_host_proto_client_and_large_bodies(site: Installation, front: Front) -> None:
    """Rule 12.584."""
    projects = f"/v1/communities/{site.environment['COMMUNITY']}/projects"
    key = {"X-API-Key": site.key, "Content-Type": "application/json"}
    forged = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}

    secure = front.ask("GET", "/account/login/")
    plain = front.ask("GET", "/account/login/", secure=False, headers=forged)
    in_clear = front.ask("GET", projects, secure=False, headers=key)
    remaining = [
        front.ask("GET", "/v1/communities", source=source, headers=forged)[1]["X-RateLimit-Remaining"]
        for source in (front.clients[0], *front.clients)
    ]
    script = {"blocks": [{"type": "open_text", "name": "why", "prompt": "Why?"}]}
    body = json.dumps({"name": "Survey", "type": "convo", "script": script}).encode()
    created = front.ask("POST", projects, body, headers=key)
    address = f"{projects}/{json.loads(created[2])['id']}/responses"
    large = front.ask("POST", address, responses(7 * MEBIBYTE), headers=key)
    with front.connected() as connection:
        connection.putrequest("POST", address)
        for name, text in {**key, "Content-Length": str(9 * MEBIBYTE)}.items():
            connection.putheader(name, text)
        connection.endheaders()
        if front.counts:
            with suppress(OSError):  # The proxy may answer and close before it has read all.
                connection.send(bytes(8 * MEBIBYTE + 1))
        too_large = connection.getresponse().status

    assert secure[0] == 200
    assert re.search(r"__Host-\w+=.*; Secure", str(secure[1]["Set-Cookie"]))
    assert (plain[0], plain[1]["Location"]) == (301, f"https://{HOST}/account/login/")
    assert in_clear[0] == 403
    assert b"over https alone" in in_clear[2]
    first, second, of_another = map(int, remaining)
    assert first == of_another == second + 1
    assert created[0] == 201
    assert (large[0], too_large) == (400, 413)  # 400: it was read, and has no response
    assert all(client in front.log.read_text() for client in front.clients)


@contextmanager
def pausing_server(may_end: threading.Event) -> Iterator[int]:
    """A site that sends a part of an answer and waits before it sends the rest; yields its port."""

    def answer(client: socket.socket) -> None:
        with client:
            request = client.recv(65_536)
            client.sendall(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nfirst\r\n"
            )
            if b"/readyz" not in request:
                may_end.wait(LIMIT)
            client.sendall(b"4\r\nlast\r\n0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(client,), daemon=True).start()

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize("name", PROXIES)
def test_a_proxy_sends_on_each_part_of_an_answer_at_once(name: str, tmp_path: Path) -> None:
    """Rule 12.584."""
    may_end = threading.Event()
    with pausing_server(may_end) as port:
        front = Front(name, tmp_path, port)
        with front.running(), front.connected() as connection:
            connection.request("GET", "/export")
            answer = connection.getresponse()
            first = answer.read1(100)
            may_end.set()
            rest = answer.read()

    assert (first, rest) == (b"first", b"last")


def test_the_units_of_systemd_are_valid_and_have_the_commands_of_the_procfile(tmp_path: Path) -> None:
    """Rule 12.587."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    units = sorted((DEPLOY / "systemd").iterdir())
    python = shutil.which("python3") or ""
    for unit in units:
        text = replaced(unit.read_text(), ("/srv/colloquy/current/.venv/bin/python", python))
        text = replaced(text, ("WorkingDirectory=/srv/colloquy/current", f"WorkingDirectory={tmp_path}"))
        (tmp_path / unit.name.replace("@", "@1")).write_text(text)

    verified = subprocess.run(
        ["systemd-analyze", "verify", *(str(tmp_path / unit.name.replace("@", "@1")) for unit in units)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert [
        line for line in verified.stderr.splitlines() if str(tmp_path) in line or "colloquy" in line
    ] == []
    procfile = (DEPLOY.parent.parent / "Procfile").read_text()
    for unit in units:
        (command,) = re.findall(r"^ExecStart=\S+/python (.*)$", unit.read_text(), re.MULTILINE)
        assert command in procfile


def test_every_container_can_neither_write_to_its_files_nor_gain_rights(tmp_path: Path) -> None:
    """Rule 12.587."""
    compose = yaml.safe_load((DEPLOY / "compose.yml").read_text())
    ours = {name: each for name, each in compose["services"].items() if each["image"] == "colloquy"}
    objects = list(yaml.safe_load_all((DEPLOY / "kubernetes.yml").read_text()))
    pods = [each["spec"]["template"]["spec"] for each in objects if each["kind"] == "Deployment"]

    assert ours.keys() == {"migrate", "web", "worker", "scheduler"}
    assert all(each["read_only"] and each["cap_drop"] == ["ALL"] for each in ours.values())
    assert ours["web"]["ports"] == ["127.0.0.1:8000:8000"]
    assert len(pods) == 2
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"]
        for container in pod["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"]
            assert container["envFrom"]


def test_the_image_has_every_part_of_the_program_and_the_command_of_the_web_process() -> None:
    """Rule 12.587."""
    root, dockerfile = DEPLOY.parent.parent, (DEPLOY / "Dockerfile").read_text()
    (command,) = re.findall(r"^CMD (.*)$", dockerfile, re.MULTILINE)
    copied = set(re.findall(r"^COPY (?!--)(\S+) ", dockerfile, re.MULTILINE))
    parts: set[Any] = {each.name for each in root.iterdir() if (each / "__init__.py").exists()}

    assert copied == (parts - {"tests"}) | {"templates", "manage.py", "requirements.txt"}
    assert f"web: exec {' '.join(json.loads(command))}\n" in (root / "Procfile").read_text()
    assert re.findall(r"^USER (.*)$", dockerfile, re.MULTILINE) == ["65532:65532"]
