"""The log of our own faults. It contains the place of a fault, and not its message."""

from __future__ import annotations

import traceback

from structlog.stdlib import BoundLogger

MOST_FRAMES = 12


def log_fault(log: BoundLogger, event: str, fault: BaseException, **fields: object) -> None:
    """Log the class of an exception and its innermost stack frames as an error.

    The message is left out, because it may repeat an answer or a secret.
    """
    frames = traceback.extract_tb(fault.__traceback__)[-MOST_FRAMES:]
    log.error(
        event,
        fault=type(fault).__qualname__,
        frames=[f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
        **fields,
    )
