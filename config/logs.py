"""The format of the log: one JSON object on each line, or short readable lines on a terminal.

Each line contains the values that the request's middleware and authentication have bound: the request id, the
community and the key's prefix. A line never contains a body or a secret.
"""

import logging.config
import os
import re
import sys
from enum import StrEnum
from typing import Any

import orjson
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

DEFAULT_LEVEL = "INFO"

# PostgreSQL's message for a failed statement repeats its values, so the message is removed. The class of the
# exception remains.
DATABASE_MESSAGE = re.compile(
    r"^((?:psycopg|django\.db)[\w.]*): .*?(?=\n\nThe above exception|\n\nDuring handling|\Z)",
    re.MULTILINE | re.DOTALL,
)


class LogFormat(StrEnum):
    """The format of a line.

    PREFIXED is for `manage.py run`, which adds the time and the process before each line.
    """

    JSON = "json"
    TERMINAL = "terminal"
    PREFIXED = "prefixed"


def default_format(*, debug: bool) -> LogFormat:
    """Return the format of readable lines on a terminal and with `debug`, else JSON. `manage.py run` chooses
    by COLLOQUY_LOGS.
    """
    if chosen := os.environ.get("COLLOQUY_LOGS"):
        return LogFormat(chosen)
    return LogFormat.TERMINAL if debug or sys.stderr.isatty() else LogFormat.JSON


def _remove_values(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Remove values of the database and of exceptions, which may be answers (rule 12.7)."""
    if "exception" in event:
        event["exception"] = DATABASE_MESSAGE.sub(r"\1", event["exception"])
    if event.get("logger") == "celery.app.trace":  # Celery appends the exception's message after a colon.
        event["event"] = event["event"].split(":")[0]
    return event


def _remove_traceback_of_attack(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Remove the traceback of a refused request, such as a request for an unknown host, because the traceback
    contains the sent text.
    """
    if event.get("logger", "").startswith("django.security."):
        event.pop("exc_info", None)
    return event


def _remove_details(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    for name in ("logger", "community", "key_prefix"):
        event.pop(name, None)
    return event


def _remove_time(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    event.pop("timestamp", None)
    return event


def _as_json(event: EventDict, **_: Any) -> str:
    return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


SHARED_PROCESSORS: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def settings(*, log_format: LogFormat, level: str, debug: bool) -> dict[str, Any]:
    """Python's logging configuration, which structlog's loggers use too.

    At the default level the readable formats leave out Celery's routine lines, and the line for each request
    that JSON has. Exceptions keep their messages only with `debug`.
    """
    is_quiet = log_format is not LogFormat.JSON and level == DEFAULT_LEVEL
    routine = "WARNING" if is_quiet else level
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": _rendering(log_format, debug=debug),
                "foreign_pre_chain": SHARED_PROCESSORS,
            },
        },
        "handlers": {"output": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["output"], "level": level},
        "loggers": {
            "colloquy.requests": {"level": routine},
            "colloquy.startup": {"level": routine},
            "celery": {"level": routine},
            "celery.beat": {"level": "WARNING"},  # Several tasks are due every two seconds.
            "django": {"level": level},
            "django.request": {"level": "ERROR"},  # The request middleware logs each request.
            "django.server": {"handlers": [], "propagate": True, "level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
            "celery.worker.request": {"level": "WARNING"},  # Each message that expired before its turn.
            "celery.app.trace": {"level": "WARNING"},
        },
    }


def _rendering(log_format: LogFormat, *, debug: bool) -> list[Processor]:
    steps: list[Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        _remove_traceback_of_attack,
        structlog.processors.format_exc_info,
    ]
    if not debug:
        steps.append(_remove_values)
    if log_format is LogFormat.JSON:
        return [*steps, structlog.processors.JSONRenderer(_as_json)]
    local_time = structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False)
    steps += [_remove_details, _remove_time if log_format is LogFormat.PREFIXED else local_time]
    return [*steps, structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0)]


def configure(configuration: dict[str, Any]) -> None:
    """Set up Python's logging and structlog. Django calls this with the setting LOGGING."""
    logging.config.dictConfig(configuration)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED_PROCESSORS,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
