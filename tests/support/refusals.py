"""Refusals of services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from django.db import transaction

E = TypeVar("E", bound=Exception)


def refused(error: type[E], call: Callable[..., object], *args: Any, **kwargs: Any) -> E:
    """The error that a call raises. The call's writes are rolled back, as for a request."""
    with pytest.raises(error) as caught, transaction.atomic():
        call(*args, **kwargs)
    return caught.value
