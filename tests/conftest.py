"""The servers of one run of the tests: its own servers, or the servers in DATABASE_URL and REDIS_URL.

Every process of pytest-xdist has a database and a Redis number for itself. Database 0 is never used, because
on a developer's own server it may contain their data.
"""

import atexit
import fcntl
import functools
import gc
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

import django
import psycopg
import pytest
import structlog
from django.conf import settings
from django.db import connection
from django.template.base import Template
from django.template.context import Context, RequestContext
from django.test import utils as testing
from django_redis import get_redis_connection
from psycopg._preparing import PrepareManager

from config import servers

pytest.register_assert_rewrite("tests.support")

TESTS = Path(__file__).parent
FOLDERS = "colloquy-tests-"
LONG = (
    *("_torture", "_readme", "_live", "_worker", "_isolation", "_outages", "_slow_clients", "_locks"),
    *("_regexes", "_memory", "_upgrade", "_samples"),
)
ALL_LONG = r"^pytestmark = .*\bmark\.long\b"
# The words of `-m` for tests that `make test` leaves out, and what modules with such tests contain.
THE_OTHERS = {"browser", "hypothesis", "long", "or", "thorough"}
SOME_OF_THE_OTHERS = r"\bmark\.(long|thorough)\b|\bhypothesis\b"
# Fixtures that plugins set up for each test, and that do nothing for a test without live_server.
IDLE_FIXTURES = {
    "_django_clear_site_cache",
    "_django_isolate_apps",
    "_django_set_urlconf",
    "_django_setup_unittest",
    "_fail_for_invalid_template_variable",
    "_live_server_helper",
    "_template_string_if_invalid_marker",
    "faker_seed",
}
OWN_DATABASE = "COLLOQUY_TESTS_OWN_DATABASE"
MIGRATED = "COLLOQUY_TESTS_MIGRATED"  # the name of a database that the others are copied from
SECRET_KEY = "only-for-tests-" + "0123456789abcdef" * 4
OTHER_SETTINGS = (
    "AI_BULK_FROM",
    "AI_JOBS_PER_COMMUNITY_AND_HOUR",
    "AI_PROVIDER",
    "AI_THREADS",
    "ALLOWED_HOSTS",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "BASE_URL",
    "BIND",
    "CELERY_BROKER_URL",
    "CHAT_API_BASE_URL",
    "CHAT_APPLICATION_ID",
    "CHAT_BOT_TOKEN",
    "CHAT_CLIENT_SECRET",
    "CHAT_PUBLIC_KEY",
    "CONVERSATIONS_PER_ADDRESS_AND_MINUTE",
    "CONVERSATIONS_PER_PROJECT_AND_MINUTE",
    "CREDITS_FOR_100_TEXTS",
    "CREDITS_FOR_10_FOLLOW_UPS",
    "CREDITS_FOR_A_SCRIPT",
    "CREDITS_KEPT_FROM_FOLLOW_UPS",
    "DATABASE_REPLICA_SECONDS",
    "DATABASE_REPLICA_URL",
    "DEBUG",
    "EMAIL_FROM",
    "EMAIL_URL",
    "EVENT_DAYS",
    "FOLLOW_UPS_PER_COMMUNITY_AND_HOUR",
    "FOLLOW_UPS_PER_PROJECT_AND_DAY",
    "FOLLOW_UP_SECONDS",
    "LEAST_SECONDS_TO_FIRST_ANSWER",
    "LOG_LEVEL",
    "METRICS",
    "METRICS_TOKEN",
    "MINUTES_UNTIL_A_FOLLOW_UP_IS_SKIPPED",
    "MOVES_PER_ADDRESS_AND_MINUTE",
    "MOVES_PER_VISITOR_AND_MINUTE",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "PICTURES_ALLOW_PRIVATE_NETWORKS",
    "PICTURES_BYTES_PER_COMMUNITY",
    "PICTURE_BYTES",
    "PORT",
    "PROOF_OF_WORK_HASHES",
    "PREPARED_STATEMENTS",
    "SECRET_KEY_FALLBACKS",
    "SECONDS_BETWEEN_REQUESTS",
    "SECONDS_TO_READ_A_RESPONSE",
    "SECONDS_TO_SEND_A_BODY",
    "SECONDS_TO_SEND_A_HEADER",
    "SECONDS_TO_WAIT_FOR_A_SCRIPT",
    "SESSION_IDLE_HOURS",
    "SESSION_MAX_HOURS",
    *(
        f"SIGN_IN_{source}_{name}"
        for source in ("CHAT", "VIDEO", "STREAMING", "GAME_STORE", "MEMBERSHIP")
        for name in ("CLIENT_ID", "CLIENT_SECRET", "BASE_URL")
    ),
    "STAFF_SESSION_IDLE_HOURS",
    "STAFF_SESSION_MAX_HOURS",
    "STATEMENT_TIMEOUT_SECONDS",
    "TRUSTED_PROXIES",
    "UNANSWERED_DAYS",
    "UNCONFIRMED_MAILS_PER_COMMUNITY_AND_DAY",
    "WEBHOOKS_ALLOW_HTTP",
    "WEBHOOKS_ALLOW_PRIVATE_NETWORKS",
    "WEBHOOKS_THREADS",
    "WEB_BUFFER",
    "WEB_CONNECTIONS",
    "WEB_MAX_REQUESTS",
    "XP_PER_COMPLETION_BY_CREATORS",
)


def pytest_xdist_auto_num_workers() -> int:
    """One process more than cores, because some tests wait for browsers and for processes of their own."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no module of which no test runs: some take a second, and all take half a minute."""
    marks, path = config.option.markexpr, collection_path
    if not path.name.startswith("test_") or path.suffix != ".py":
        return None
    if marks == "not long":
        return True if re.search(ALL_LONG, path.read_text(), re.MULTILINE) else None
    if marks and {*marks.split()} <= THE_OTHERS and "browser" not in path.parts:
        return None if re.search(SOME_OF_THE_OTHERS, path.read_text()) else True
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Let each process of a run of all tests begin to import at another place.

    In a fresh clone each would compile every module otherwise, at the same time: half a minute of all.
    """
    config, left_out = session.config, [Path(each).absolute() for each in session.config.option.ignore or ()]
    if not hasattr(config, "workerinput") or [Path(each).absolute() for each in config.args] != [TESTS]:
        return
    number, processes = int(config.workerinput["workerid"][2:]), config.workerinput["workercount"]
    paths = [
        path
        for path in sorted(TESTS.rglob("test_*.py"))
        if not pytest_ignore_collect(path, config) and not {*left_out} & {*path.parents}
    ]
    for path in paths[len(paths) * number // processes :]:
        with suppress(Exception, pytest.skip.Exception):  # which the collection tells
            importlib.import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))


@pytest.hookimpl(trylast=True)  # after the shuffling
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, which mostly wait, so that no run ends with one of them alone.

    No test sets fixtures up that do nothing for it: together they take as long as a hundred tests.
    """
    items.sort(key=lambda item: not item.path.stem.endswith(LONG))
    for item in items:
        names = getattr(item, "fixturenames", [])
        if "live_server" not in names:
            names[:] = [name for name in names if name not in IDLE_FIXTURES]


def pytest_collection_finish() -> None:
    """Leave the many thousands of tests out of every later collection of garbage: all stay to the end.

    What survives one collection mostly belongs to caches, and is looked through again rarely.
    """
    gc.freeze()
    gc.set_threshold(gc.get_threshold()[0], 50, 100)
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    if not is_worker:
        _keep_bytecode()
        _start_servers()
        if config.option.numprocesses and OWN_DATABASE in os.environ:
            config.pluginmanager.register(_Migration())
    if is_worker or not config.option.numprocesses:
        # Dropping a database waits for every session; a server of our own goes with all that it has.
        config.option.reuse_db = config.option.reuse_db or OWN_DATABASE in os.environ
        _say_environment()
        _settle_hypothesis()
        django.setup()
        _adapt_program()
        gc.disable()  # until all tests are collected, because they stay
        if is_worker and config.option.durations is None:
            _send_only_what_is_shown(config)
    else:  # or pytest-django would read the settings in the workers before they have their Redis number
        os.environ.pop("DJANGO_SETTINGS_MODULE", None)


class _Migration:
    """Migrates one database while the processes collect their tests. Each of them then copies it."""

    def __init__(self) -> None:
        name, server = "migrated", urlsplit(os.environ["DATABASE_URL"])
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        environment = {key: value for key, value in os.environ.items() if key not in OTHER_SETTINGS}
        environment |= {
            "DATABASE_URL": f"{server.scheme}://{server.netloc}/{name}?{server.query}",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "SECRET_KEY": SECRET_KEY,
        }
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "migrate", "--verbosity=0"],
            cwd=Path(__file__).parent.parent,
            env=environment,
        )
        os.environ[MIGRATED] = name

    def pytest_xdist_node_collection_finished(self) -> None:
        """Let no test begin before."""
        if self.process.wait():
            pytest.exit("The database of the tests cannot be migrated.", returncode=2)

    def pytest_unconfigure(self) -> None:
        """After a run without tests it may still be at work."""
        self.process.kill()
        self.process.wait()


def _send_only_what_is_shown(config: pytest.Config) -> None:
    """Nothing shows four of the six messages about a test that passes, and all cost as much as many tests."""
    plugins = config.pluginmanager.get_plugins()
    worker: Any = next(each for each in plugins if type(each).__name__ == "WorkerInteractor")
    send = worker.sendevent

    def sendevent(name: str, **kwargs: Any) -> None:
        report = kwargs["data"] if name == "testreport" else {"when": "call"}
        is_shown = report["when"] == "call" or report["outcome"] != "passed"
        if is_shown and name not in ("logstart", "logfinish"):
            send(name, **kwargs)

    worker.sendevent = sendevent


def _keep_bytecode() -> None:
    """Or each of the many processes would compile all modules again, which takes longer than most tests."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def _settle_hypothesis() -> None:
    """No example has a deadline, because a busy machine may take any time for it."""
    from hypothesis import settings  # noqa: PLC0415 - not in the process that only starts others

    from tests.support.effort import IS_THOROUGH, examples  # noqa: PLC0415 - to be rewritten before

    if not IS_THOROUGH:
        # To read the constants of all our modules for examples takes longer than all examples together.
        providers: Any = importlib.import_module("hypothesis.internal.conjecture.providers")
        providers._get_local_constants = lambda: providers._local_constants
    settings.register_profile("colloquy", deadline=None, max_examples=examples(100))
    settings.load_profile("colloquy")


def _adapt_program() -> None:
    """Once Django is set up. Fixtures would do so too, and take a tenth of a millisecond of each test."""
    from communities.accounts.recovery_codes import hashed  # noqa: PLC0415
    from communities.gate import authentication  # noqa: PLC0415
    from communities.ground import sealing  # noqa: PLC0415
    from communities.ground.transactions import InTransaction  # noqa: PLC0415
    from surveys.services.ground import jobs  # noqa: PLC0415
    from tests.support import accounts, emptying, forms  # noqa: PLC0415

    # Without the work that makes guessing passwords and recovery codes slow
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    hashed.__defaults__ = (1_000,)
    cast(Any, testing).instrumented_test_render = _note_page
    # Else the first test that hashes would send a query more.
    sealing.load_hash_root_by(lambda: sealing.root_of(SECRET_KEY.encode()))
    # A logger that has cached its processors shows nothing to `capture_logs`.
    structlog.configure(cache_logger_on_first_use=False)
    emptying.empty_quickly()
    forms.send_as_browsers_do()
    accounts.sign_in_quickly()
    # Reading the system's certificates takes longer than a test of a provider.
    transports = cast(Any, importlib.import_module("httpx2._transports.default"))
    transports.create_ssl_context = functools.cache(transports.create_ssl_context)
    # psycopg forgets prepared statements at a rollback, which ends most tests: it may take a table back.
    PrepareManager.clear = lambda self: False  # type: ignore[method-assign]
    # A test that takes longer than some seconds reads its key no more often than one that is quick.
    authentication.SECONDS_IN_CACHE = 3600.0
    close, enter = jobs.close_connection, InTransaction.__enter__
    # Jobs close their connection before a long wait; the one that holds a test's transaction stays open.
    jobs.close_connection = lambda: None if _is_in_transaction_of_test() else close()

    def enter_with_savepoint(block: InTransaction) -> None:
        """A service's outermost block is rolled back by itself, even inside the transaction of a test."""
        if _is_in_transaction_of_test():
            connection.savepoint_ids.append(connection.savepoint())  # type: ignore[arg-type]
            connection.atomic_blocks.append(block)
        else:
            enter(block)

    InTransaction.__enter__ = enter_with_savepoint  # type: ignore[method-assign, assignment]


_NOTE: Any = cast(Any, testing).instrumented_test_render


def _note_page(template: Template, context: Context) -> Any:
    """Copy the context of a page for `response.context`, but not once more for each control of its forms."""
    is_page = isinstance(context, RequestContext) and context.template is template
    return _NOTE(template, context) if is_page else template.nodelist.render(context)


def _is_in_transaction_of_test() -> bool:
    blocks = connection.atomic_blocks
    return bool(blocks) and getattr(blocks[-1], "_from_testcase", False)


def pytest_runtest_setup() -> None:
    """What other tests did from the same address does not count, nor do files that they left unread."""
    from communities.gate import downloads, throttling  # noqa: PLC0415
    from communities.ground.slots import Slots  # noqa: PLC0415 - once Django is set up

    throttling.counts_here = throttling.CountsHere()
    downloads._slots = Slots(100, most_of_one=100)
    settings.CONVERSATIONS_PER_ADDRESS_AND_MINUTE = 1_000_000


def _start_servers() -> None:
    """Once for each run, in the process that starts the others, which find the URLs in their environment."""
    folder = _folder_of_this_run()
    needs_postgres, needs_valkey = "DATABASE_URL" not in os.environ, "REDIS_URL" not in os.environ
    try:
        started = _servers(folder, postgres=needs_postgres, valkey=needs_valkey)
    except servers.CannotStart as failure:
        pytest.exit(str(failure), returncode=2)
    for name, server in started.items():
        os.environ[name] = server.url
        atexit.register(server.stop)
    if "DATABASE_URL" in started:
        os.environ[OWN_DATABASE] = "true"
    (folder / "var" / "static").mkdir(parents=True)
    os.environ["VAR_DIR"] = str(folder / "var")


def _servers(folder: Path, *, postgres: bool, valkey: bool) -> dict[str, servers.Server]:
    """Servers that may lose their data, below `folder`, by the setting that takes their URL."""
    started = {}
    if postgres:
        sockets = folder / "pg"
        sockets.mkdir()
        started["DATABASE_URL"] = servers.start_postgres(
            data=folder / "data", sockets=sockets, log=folder / "postgres.log", durable=False
        )
    if valkey:
        sockets = folder / "valkey"
        sockets.mkdir()
        started["REDIS_URL"] = servers.start_valkey(sockets=sockets, log=folder / "valkey.log")
    return started


def _folder_of_this_run() -> Path:
    """A new folder, locked while this process runs. Folders of killed runs are deleted."""
    temporary = Path(tempfile.gettempdir())
    for leftover in temporary.glob(f"{FOLDERS}*"):
        try:
            with (leftover / "lock").open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(leftover, ignore_errors=True)
        except OSError:
            continue
    folder = servers.new_folder(prefix=FOLDERS)
    folder.chmod(0o711)  # root gives the folders inside to the user whom the servers run as
    lock = (folder / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(lock.close)
    return folder


def _say_environment() -> None:
    """The tests use the same settings in every environment."""
    for name in OTHER_SETTINGS:
        os.environ.pop(name, None)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    os.environ["REDIS_URL"] = _with_number(os.environ["REDIS_URL"], int(worker) + 1)
    os.environ["SECONDS_TO_WAIT_FOR_A_SCRIPT"] = "0"  # no worker is there, but where a test says so
    os.environ["SECRET_KEY"] = SECRET_KEY
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"


def _with_number(redis_url: str, number: int) -> str:
    parts = urlsplit(redis_url)
    if parts.scheme == "unix":
        return f"unix://{parts.path}?db={number}"  # urlunsplit drops the slashes of a scheme it does not know
    return urlunsplit(parts._replace(path=f"/{number}"))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Copy the migrated database, where there is one: migrating takes seconds."""
    if MIGRATED in os.environ:
        connection.settings_dict["TEST"]["TEMPLATE"] = os.environ[MIGRATED]


@pytest.fixture(scope="module")
def kept_rows(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The rows that a module's own fixtures write exist for all its tests, and are then deleted.

    No test of that module may commit. Tests roll back their own changes, except in Redis. So a test that
    changes permissions needs a community of its own.
    """
    from tests.support.database import kept_for_many_tests  # noqa: PLC0415 - once Django is set up

    with kept_for_many_tests(django_db_blocker):
        yield


@pytest.fixture
def redis() -> Iterator["object"]:
    """This process's own Redis, empty before and after."""
    connection = get_redis_connection()
    connection.flushdb()
    yield connection
    connection.flushdb()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print one line with the tests that were left out, and the reason."""
    left_out = [
        report for report in terminalreporter.stats.get("skipped", []) if "/browser/" in report.nodeid
    ]
    if left_out:
        why = str(left_out[0].longrepr[2]).removeprefix("Skipped: ")
        terminalreporter.write_line(f"Left out: {len(left_out)} tests in tests/browser: {why}.")
