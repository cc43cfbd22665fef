"""The log is one JSON object a line, tells whose request it was, and repeats nothing that anybody typed."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from django.db import DatabaseError, connection, transaction

from config import logs


@pytest.fixture
def output() -> Iterator[io.StringIO]:
    """What the configured handler writes while the test runs."""
    described = logs.settings(debug=False, level="INFO")
    formatter = structlog.stdlib.ProcessorFormatter(
        processors=described["formatters"]["line"]["processors"],
        foreign_pre_chain=logs.SHARED,
    )
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(formatter)
    logging.getLogger().addHandler(handler)
    structlog.contextvars.clear_contextvars()  # of what the last request of another test had bound
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
