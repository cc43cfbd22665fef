"""Many cases in one test, where nothing but a function decides about each: collecting them costs more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import WRAPPER_ASSIGNMENTS, update_wrapper
from typing import Any, cast


def try_each(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Like `pytest.mark.parametrize` without fixtures. All cases run, and every failure names its case."""
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    given = [dict(zip(keys, case if len(keys) > 1 else (case,), strict=True)) for case in cases]
    assert given, "There is no case."

    def decorate(test: Callable[..., None]) -> Any:
        body, inner = getattr(test, "_cases", (test, [{}]))
        together = [outer | more for outer in given for more in inner]

        def run() -> None:
            failures = []
            for case in together:
                try:
                    body(**case)
                except Exception as failure:
                    failure.add_note(f"The case: {case!r}")
                    failures.append(failure)
            if len(failures) > 1:
                raise ExceptionGroup(f"{len(failures)} of {len(together)} cases fail", failures)
            if failures:
                raise failures[0]

        update_wrapper(run, body, WRAPPER_ASSIGNMENTS)
        del cast(Any, run).__wrapped__  # pytest would take the names for fixtures
        cast(Any, run)._cases = body, together
        return run

    return decorate
