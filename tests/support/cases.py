"""Many cases in one test, where none changes anything for the next: preparing each would cost more."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import WRAPPER_ASSIGNMENTS, update_wrapper
from typing import Any, cast


def try_each(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Like `pytest.mark.parametrize`, with the same fixtures for all cases.

    All cases run, and every failure names its case.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    given = [dict(zip(keys, case if len(keys) > 1 else (case,), strict=True)) for case in cases]
    assert given, "There is no case."

    def decorate(test: Callable[..., None]) -> Any:
        body, inner = getattr(test, "_cases", (test, cast(list[dict[str, Any]], [{}])))
        together = [outer | more for outer in given for more in inner]

        def run(**fixtures: Any) -> None:
            failures = []
            for case in together:
                try:
                    body(**case, **fixtures)
                except Exception as failure:
                    failure.add_note(f"The case: {case!r}")
                    failures.append(failure)
            if len(failures) > 1:
                raise ExceptionGroup(f"{len(failures)} of {len(together)} cases fail", failures)
            if failures:
                raise failures[0]

        marked: Any = update_wrapper(run, body, WRAPPER_ASSIGNMENTS)
        marked.__dict__.update(test.__dict__)
        del marked.__wrapped__  # pytest would take the names for fixtures
        parameters = inspect.signature(body).parameters.values()
        marked.__signature__ = inspect.Signature(
            [each for each in parameters if each.name not in together[0]]
        )
        marked._cases = body, together
        return run

    return decorate
