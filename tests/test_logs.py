"""The log: one JSON object a line that names the request, short lines on a terminal, no personal data.

Rule 12.7.
"""

import io
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from celery.worker import request as celery_request
from django.db import DatabaseError, connection, transaction
from django.test import Client

from config import logs
from config.logs import LogFormat
from tests.support.cases import try_each

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def log_format() -> LogFormat:
    return LogFormat.JSON


@pytest.fixture
def output(log_format: LogFormat) -> Iterator[io.StringIO]:
    """The output of the configured handler while the test runs."""
    configuration = logs.settings(log_format=log_format, level="INFO", debug=False)
    formatter = structlog.stdlib.ProcessorFormatter(
        processors=configuration["formatters"]["line"]["processors"],
        foreign_pre_chain=logs.SHARED_PROCESSORS,
    )
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(formatter)
    logging.getLogger().addHandler(handler)
    structlog.contextvars.clear_contextvars()  # bound by the last request of another test
    yield handler.stream
    logging.getLogger().removeHandler(handler)
    structlog.contextvars.clear_contextvars()


def _lines(output: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.getvalue().splitlines()]


@pytest.mark.parametrize("get_logger", [structlog.get_logger, logging.getLogger])
def test_every_line_is_an_object_with_what_was_bound_to_the_request(
    output: io.StringIO, get_logger: Any
) -> None:
    structlog.contextvars.bind_contextvars(request_id="r-1", community="7", key_prefix="cq_live_abcdef")

    get_logger("anything").info("A thing happened.")

    (line,) = _lines(output)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "A thing happened.",
        "level": "info",
        "logger": "anything",
        "request_id": "r-1",
        "community": "7",
        "key_prefix": "cq_live_abcdef",
    }


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 'what somebody typed'::int",
        "SELECT FROM ('what somebody typed',\n\n'and what somebody typed') nothing like SQL",
        "DO $$ BEGIN RAISE 'It was wrong' USING DETAIL = 'what somebody typed'; END $$",
    ],
)
def test_a_failed_statement_is_logged_without_its_values(output: io.StringIO, statement: str) -> None:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    except DatabaseError:
        logging.getLogger("anything").exception("The statement failed.")

    (line,) = _lines(output)
    assert "what somebody typed" not in json.dumps(line)
    assert "Traceback" in line["exception"]


@pytest.mark.parametrize("log_format", [LogFormat.JSON, LogFormat.TERMINAL])
def test_a_request_for_a_host_that_is_not_ours_is_one_line_without_a_traceback(output: io.StringIO) -> None:
    response = Client().get("/healthz", headers={"Host": "evil.example"}, secure=True)

    lines = [line for line in output.getvalue().splitlines() if "request.done" not in line]
    assert response.status_code == 400
    assert len(lines) == 1
    assert "evil.example" in lines[0]
    assert "Traceback" not in output.getvalue()


@pytest.mark.parametrize(
    ("log_format", "line"),
    [
        (LogFormat.TERMINAL, r"\d\d:\d\d:\d\d \[warning  \] It is late\. +hours=3 request_id=r-1\n"),
        (LogFormat.PREFIXED, r"\[warning  \] It is late\. +hours=3 request_id=r-1\n"),
    ],
)
def test_on_a_terminal_a_line_is_short(output: io.StringIO, line: str) -> None:
    structlog.contextvars.bind_contextvars(request_id="r-1", community="7", key_prefix="cq_live_abcdef")

    structlog.get_logger("anything").warning("It is late.", hours=3)

    assert re.fullmatch(line, output.getvalue())


@pytest.mark.parametrize("log_format", [LogFormat.TERMINAL])
def test_on_a_terminal_a_fault_has_its_traceback_without_values(output: io.StringIO) -> None:
    typed = "what somebody typed"
    try:
        raise DatabaseError(typed)
    except DatabaseError:
        logging.getLogger("anything").exception("The statement failed.")

    assert "Traceback" in output.getvalue()
    assert typed not in output.getvalue()


@try_each(
    ("log_format", "level", "requests"),
    [
        (LogFormat.JSON, "INFO", "INFO"),
        (LogFormat.TERMINAL, "INFO", "WARNING"),
        (LogFormat.PREFIXED, "INFO", "WARNING"),
        (LogFormat.TERMINAL, "DEBUG", "DEBUG"),
        (LogFormat.TERMINAL, "ERROR", "ERROR"),
    ],
)
def test_on_a_terminal_requests_are_quiet_at_the_default_level(
    log_format: LogFormat, level: str, requests: str
) -> None:
    loggers = logs.settings(log_format=log_format, level=level, debug=False)["loggers"]

    assert loggers["colloquy.requests"]["level"] == requests
    assert loggers["celery"]["level"] == requests


@pytest.mark.parametrize(
    ("is_terminal", "environment", "log_format"),
    [
        (False, {}, "json"),
        (True, {}, "terminal"),
        (False, {"DEBUG": "1"}, "terminal"),
        (False, {"COLLOQUY_LOGS": "prefixed"}, "prefixed"),
        (True, {"COLLOQUY_LOGS": "json"}, "json"),
    ],
)
def test_the_format_depends_on_where_the_log_goes(
    tmp_path: Path, is_terminal: bool, environment: dict[str, str], log_format: str
) -> None:
    code = "from config import logs, settings; print(logs.default_format(debug=settings.DEBUG).value)"
    controller, terminal = os.openpty()

    started = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"COLLOQUY_SERVERS": "none", "VAR_DIR": str(tmp_path), **environment},
        stdout=subprocess.PIPE,
        stderr=terminal if is_terminal else subprocess.DEVNULL,
        text=True,
        check=True,
    )

    os.close(terminal)
    os.close(controller)
    assert started.stdout == f"{log_format}\n"


def test_messages_that_expired_are_not_logged() -> None:
    """Rule 12.542. Each message that no worker fetched in time would be a line “Discarding revoked task”."""
    assert not logging.getLogger(celery_request.__name__).isEnabledFor(logging.INFO)
