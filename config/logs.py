"""One JSON object a line outside DEBUG, with what the gate bound to the request; never a body or a secret."""

import logging.config
import re
from typing import Any

import orjson
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

# What PostgreSQL says of a failed statement repeats its values; which kind of failure it was is enough.
WORDS_OF_POSTGRES = re.compile(
    r"^((?:psycopg|django\.db)[\w.]*): .*?(?=\n\nThe above exception|\n\nDuring handling|\Z)",
    re.MULTILINE | re.DOTALL,
)


def _forget_values(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    if "exception" in event:
        event["exception"] = WORDS_OF_POSTGRES.sub(r"\1", event["exception"])
    if event.get("logger") == "celery.app.trace":  # which puts the exception's words behind a colon
        event["event"] = event["event"].split(":")[0]
    return event


def _as_json(event: EventDict, **_: Any) -> str:
    return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def settings(*, debug: bool, level: str) -> dict[str, Any]:
    """The configuration of Python's logging, through which structlog's loggers go too."""
    rendering: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if debug:
        rendering += [
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
        ]
    else:
        rendering += [
            structlog.processors.format_exc_info,
            _forget_values,
            structlog.processors.JSONRenderer(_as_json),
        ]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": rendering,
                "foreign_pre_chain": SHARED,
            },
        },
        "handlers": {"output": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["output"], "level": level},
        "loggers": {
            "django": {"level": level},
            "django.request": {"level": "ERROR"},  # the gate writes a line for each request itself
            "django.server": {"handlers": [], "propagate": True, "level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
            "celery.app.trace": {"level": "WARNING"},
        },
    }


def configure(described: dict[str, Any]) -> None:
    """Set up Python's logging and structlog; Django calls this once with the setting LOGGING."""
    logging.config.dictConfig(described)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
