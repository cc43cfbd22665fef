"""Settings come from the environment, and each wrong value stops the start with a sentence (rule 12.1)."""

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from nacl.signing import SigningKey
from psycopg.conninfo import conninfo_to_dict

from communities.models.invitation import VALID_FOR
from config import environment
from config.web import gunicorn

ROOT = Path(__file__).parent.parent
# A start takes most of its time to import packages. This process imports them once, and starts from there.
START_FROM_HERE = """
import gc, json, os, sys
import django_stubs_ext, psycopg, structlog
import config.embedded, config.environment, config.logs
from kombu import Exchange, Queue
gc.freeze()  # each process that ends would look through all that this one has loaded
for line in sys.stdin:
    names, environment = json.loads(line)
    (output, out), (errors, err) = os.pipe(), os.pipe()
    if not os.fork():
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.environ.clear()
        os.environ.update(environment)
        from config import settings
        json.dump({name: getattr(settings, name) for name in names}, sys.stdout, default=str)
        sys.stdout.flush()
        os._exit(0)
    os.close(out)
    os.close(err)
    with open(output) as output, open(errors) as errors:
        written = output.read(), errors.read()
    print(json.dumps([os.waitstatus_to_exitcode(os.wait()[1]), *written]), flush=True)
"""


BROKERS = """
import django
django.setup()
from celery import current_app as app
print(app.connection_for_write().as_uri(), app.connection_for_read().as_uri())
"""


@dataclass
class Started:
    """The status and the output of a process that has read the settings."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def starter() -> "Iterator[subprocess.Popen[str]]":
    with subprocess.Popen(
        [sys.executable, "-c", START_FROM_HERE],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


@pytest.fixture
def start(starter: "subprocess.Popen[str]", tmp_path: Path) -> Callable[..., Started]:
    """Reads the settings in a process of their own and prints those named."""

    def started(*names: str, **environment: str) -> Started:
        always = {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "COLLOQUY_SERVERS": "none",
            "VAR_DIR": str(tmp_path),
        }
        assert starter.stdin is not None
        assert starter.stdout is not None
        starter.stdin.write(json.dumps([names, always | environment]) + "\n")
        starter.stdin.flush()
        return Started(*json.loads(starter.stdout.readline()))

    return started


def test_an_empty_environment_is_enough_for_one_machine(start: Callable[..., Started]) -> None:
    started = start("DEBUG", "BASE_URL", "PORT", "ALLOWED_HOSTS", "SESSION_COOKIE_SECURE")

    assert started.stderr == ""
    assert json.loads(started.stdout) == {
        "DEBUG": False,
        "BASE_URL": "http://127.0.0.1:8000",
        "PORT": 8000,
        "ALLOWED_HOSTS": ["localhost", "127.0.0.1", "[::1]", "127.0.0.1"],
        "SESSION_COOKIE_SECURE": False,
    }


def test_a_local_site_generates_its_secret_key_once_for_its_owner_alone(
    tmp_path: Path,
    start: Callable[..., Started],
) -> None:
    first, second = start("SECRET_KEY"), start("SECRET_KEY")

    assert first.stdout == second.stdout
    assert len(json.loads(first.stdout)["SECRET_KEY"]) >= 50
    assert (tmp_path / "secret_key").stat().st_mode & 0o077 == 0


def test_a_public_site_needs_a_secret_key(tmp_path: Path, start: Callable[..., Started]) -> None:
    started = start(BASE_URL="https://surveys.example.org")

    assert started.returncode == 1
    assert started.stderr.startswith("SECRET_KEY is not set")
    assert not (tmp_path / "secret_key").exists()


def test_the_development_key_stops_the_start_without_debug(start: Callable[..., Started]) -> None:
    key = environment.DEVELOPMENT_KEY

    without, with_debug = start(SECRET_KEY=key), start(SECRET_KEY=key, DEBUG="1")

    assert without.returncode == 1
    assert without.stderr.startswith("SECRET_KEY cannot be used")
    assert with_debug.returncode == 0


WRONG = [
    ("DEBUG", "perhaps"),
    ("PORT", "http"),
    ("PORT", "65536"),
    ("PORT", "0"),
    ("BIND", "nonsense"),
    ("BIND", ""),
    ("OPENAI_BASE_URL", "127.0.0.1:11434/v1"),
    ("OPENAI_MODEL", "two words"),
    ("WEB_CONCURRENCY", "x"),
    ("WEB_CONCURRENCY", "0"),
    ("WEB_MAX_REQUESTS", "-1"),
    ("BASE_URL", "surveys.example.org"),
    ("BASE_URL", "ftp://surveys.example.org"),
    ("BASE_URL", "https://surveys.example.org:port"),
    ("BASE_URL", "https://surveys.example.org/below"),
    ("ALLOWED_HOSTS", "https://surveys.example.org"),
    ("DATABASE_URL", "mysql://user:very-secret@host/name"),
    ("DATABASE_URL", "postgresql://user:very-secret@host/name?nonsense=1"),
    ("DATABASE_REPLICA_URL", "mysql://user:very-secret@host/name"),
    ("DATABASE_REPLICA_SECONDS", "-1"),
    ("REDIS_URL", "http://:very-secret@host"),
    ("CELERY_BROKER_URL", "amqp://:very-secret@host"),
    ("STATEMENT_TIMEOUT_SECONDS", "-1"),
    ("TRUSTED_PROXIES", "yes"),
    ("CONVERSATIONS_PER_ADDRESS_AND_MINUTE", "0"),
    ("CONVERSATIONS_PER_PROJECT_AND_MINUTE", "0"),
    ("PROOF_OF_WORK_HASHES", "0"),
    ("MOVES_PER_ADDRESS_AND_MINUTE", "0"),
    ("MOVES_PER_VISITOR_AND_MINUTE", "many"),
    ("LEAST_SECONDS_TO_FIRST_ANSWER", "soon"),
    ("LOG_LEVEL", "LOUD"),
    ("SESSION_IDLE_HOURS", "0"),
    ("AUDIT_DAYS", str(VALID_FOR.days - 1)),  # who accepts an invitation needs the trail since it was sent
    ("STAFF_SESSION_MAX_HOURS", "a day"),
    ("WEBHOOKS_ALLOW_HTTP", "perhaps"),
    ("WEBHOOKS_THREADS", "0"),
    ("METRICS_TOKEN", ""),
    ("METRICS_TOKEN", "two words"),
    ("CHAT_APPLICATION_ID", "an id"),
    ("CHAT_PUBLIC_KEY", "k" * 64),
    ("CHAT_PUBLIC_KEY", "ab" * 31),
    ("CHAT_PUBLIC_KEY", "00" * 32),
    ("CHAT_PUBLIC_KEY", "01" + "00" * 31),  # the identity
    ("CHAT_PUBLIC_KEY", "ec" + "ff" * 30 + "7f"),  # of order two
    ("CHAT_BOT_TOKEN", "very-secret with a space"),
    ("CHAT_CLIENT_SECRET", "very-secret with a space"),
    ("CHAT_API_BASE_URL", "discord.com"),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_stops_the_start_with_one_sentence_that_names_it(
    start: Callable[..., Started], name: str, value: str
) -> None:
    started = start(**{name: value})

    assert started.returncode == 1
    assert started.stderr.startswith(f"{name} cannot be used: ")
    assert started.stderr.endswith(".\n")
    assert started.stderr.count("\n") == 1
    assert "very-secret" not in started.stderr


LOCAL_SERVER = {"OPENAI_MODEL": "any", "OPENAI_BASE_URL": "http://127.0.0.1:11434/v1"}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"OPENAI_MODEL": "any"},
        {"OPENAI_API_KEY": "sk-test"},
        {"OPENAI_BASE_URL": LOCAL_SERVER["OPENAI_BASE_URL"]},
    ],
)
def test_the_provider_openai_needs_a_model_and_an_address_or_a_key(
    given: dict[str, str], start: Callable[..., Started]
) -> None:
    """Rule 10.1."""
    stopped = start(AI_PROVIDER="openai", **given)

    assert (stopped.returncode, stopped.stderr) == (
        1,
        "AI_PROVIDER cannot be used: openai needs OPENAI_MODEL, and OPENAI_BASE_URL or OPENAI_API_KEY.\n",
    )


@pytest.mark.parametrize(
    ("given", "provider"),
    [
        ({"AI_PROVIDER": "openai", **LOCAL_SERVER}, "openai"),
        ({"AI_PROVIDER": "openai", "OPENAI_MODEL": "any", "OPENAI_API_KEY": "sk-test"}, "openai"),
        ({"ANTHROPIC_API_KEY": "sk-test"}, "anthropic"),
        ({}, "local"),
        (LOCAL_SERVER, "local"),  # a server alone is not chosen: nothing goes there unless somebody says so
    ],
)
def test_the_provider_follows_the_key_or_its_name(
    given: dict[str, str], provider: str, start: Callable[..., Started]
) -> None:
    """Rule 10.1."""
    assert json.loads(start("AI_PROVIDER", **given).stdout) == {"AI_PROVIDER": provider}


def test_a_wrong_value_stops_gunicorn_with_the_same_sentence(tmp_path: Path) -> None:
    started = subprocess.run(
        [sys.executable, "-m", "gunicorn", "--config", "config/web/gunicorn.py", "config.wsgi"],
        cwd=ROOT,
        env={"COLLOQUY_SERVERS": "none", "VAR_DIR": str(tmp_path), "BIND": "nonsense"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert started.returncode == 1
    assert started.stderr.startswith("BIND cannot be used: ")
    assert started.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("files", "connections", "words"),
    [
        (200, None, "A process may open only 200 files: "),
        (1_000, 850, "A web process serves 850 connections instead of 4000, "),
        (5_000, 4_000, ""),
    ],
)
def test_a_web_process_has_as_many_connections_as_it_may_open_files(
    tmp_path: Path, files: int, connections: int | None, words: str
) -> None:
    code = (
        "import resource; from config.web import gunicorn; gunicorn.on_starting(None);"
        "print(gunicorn.worker_connections, resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    started = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={
            "COLLOQUY_SERVERS": "none",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "VAR_DIR": str(tmp_path),
        },
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (150, files)),
        capture_output=True,
        text=True,
        check=False,
    )

    assert started.stderr.startswith(words)
    assert started.stderr.count("\n") == bool(words)
    if connections is None:
        assert started.returncode == 1
    else:
        assert started.stdout.split() == [str(connections), str(connections + gunicorn.OTHER_FILES)]


@pytest.mark.parametrize("bind", ["0.0.0.0", "localhost", "::1", "[::1]"])
def test_an_ip_address_or_a_known_host_may_be_listened_on(start: Callable[..., Started], bind: str) -> None:
    started = start("BIND", BIND=bind)

    assert json.loads(started.stdout) == {"BIND": bind.strip("[]")}


def test_all_wrong_values_are_reported_at_once(start: Callable[..., Started]) -> None:
    started = start(PORT="x", DEBUG="x", BASE_URL="x")

    assert [line.split()[0] for line in started.stderr.splitlines()] == ["BASE_URL", "DEBUG", "PORT"]


def test_a_secure_address_makes_everything_else_secure(start: Callable[..., Started]) -> None:
    names = ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_SSL_REDIRECT", "CSRF_TRUSTED_ORIGINS")

    started = start(*names, BASE_URL="https://surveys.example.org/", SECRET_KEY="k" * 50)

    assert json.loads(started.stdout) == {
        "SESSION_COOKIE_SECURE": True,
        "CSRF_COOKIE_SECURE": True,
        "SECURE_SSL_REDIRECT": True,
        "CSRF_TRUSTED_ORIGINS": ["https://surveys.example.org"],
    }


CHAT = {
    "CHAT_APPLICATION_ID": "1234567890123456789",
    "CHAT_PUBLIC_KEY": SigningKey(bytes(32)).verify_key.encode().hex(),
    "CHAT_BOT_TOKEN": "very-secret-token",
    "CHAT_CLIENT_SECRET": "very-secret-secret",
}


def test_no_chat_platform_is_connected_where_nothing_is_set(start: Callable[..., Started]) -> None:
    """Rule 12.13."""
    started = start("CHAT", CHAT_API_BASE_URL="https://chat.example.org/api")

    assert json.loads(started.stdout) == {"CHAT": None}


def test_all_four_settings_connect_the_chat_platform(start: Callable[..., Started]) -> None:
    """Rule 12.13."""
    started = start("CHAT", **CHAT)

    assert json.loads(started.stdout)["CHAT"] == (
        f"ChatApplication(application_id='1234567890123456789', public_key='{CHAT['CHAT_PUBLIC_KEY']}', "
        "api_base_url='https://discord.com/api/v10')"
    )


@pytest.mark.parametrize("missing", CHAT)
def test_a_chat_platform_that_is_half_connected_stops_the_start(
    start: Callable[..., Started], missing: str
) -> None:
    """Rule 12.13."""
    started = start(**{name: value for name, value in CHAT.items() if name != missing})

    assert started.returncode == 1
    assert started.stderr.startswith(f"{missing} is not set: the chat platform needs ")
    assert started.stderr.count("\n") == 1
    assert "very-secret" not in started.stderr


def test_all_missing_settings_of_the_chat_platform_are_named(start: Callable[..., Started]) -> None:
    started = start(CHAT_APPLICATION_ID="12", CHAT_CLIENT_SECRET="very-secret-secret")

    assert started.stderr.startswith("CHAT_PUBLIC_KEY and CHAT_BOT_TOKEN are not set: ")


@pytest.mark.parametrize(
    ("own", "client_id"),
    [
        ({}, CHAT["CHAT_APPLICATION_ID"]),
        ({"SIGN_IN_CHAT_CLIENT_ID": "own", "SIGN_IN_CHAT_CLIENT_SECRET": "secret"}, "own"),
    ],
)
def test_signing_in_with_the_chat_platform_uses_its_application_by_default(
    start: Callable[..., Started], own: dict[str, str], client_id: str
) -> None:
    started = start("SIGN_IN_PROVIDERS", **CHAT, **own)

    assert f"provider='chat', client_id='{client_id}'" in started.stdout


def test_a_database_url_is_read_as_libpq_reads_it() -> None:
    url = "postgresql://ann:p%40ss@db.example.org:5433/surveys?sslmode=require"

    database = environment.django_database(url, statement_timeout=30)

    options = database.pop("OPTIONS")
    assert {name: database[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")} == {
        "NAME": "surveys",
        "USER": "ann",
        "PASSWORD": "p@ss",
        "HOST": "db.example.org",
        "PORT": "5433",
    }
    assert options["sslmode"] == conninfo_to_dict(url)["sslmode"]
    assert "statement_timeout=30s" in options["options"]


@pytest.mark.long
def test_a_broker_behind_a_unix_socket_is_given_in_the_syntax_of_celery(tmp_path: Path) -> None:
    """Celery also reads this variable itself, and does not know the scheme."""
    url = "unix:///run/valkey.sock?db=3"

    started = subprocess.run(
        [sys.executable, "-c", BROKERS],
        cwd=ROOT,
        env={
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "COLLOQUY_SERVERS": "none",
            "VAR_DIR": str(tmp_path),
            "CELERY_BROKER_URL": url,
        },
        capture_output=True,
        text=True,
        check=True,
    )

    assert started.stdout.split() == ["redis+socket:///run/valkey.sock"] * 2
