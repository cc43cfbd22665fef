"""A range of days that filters a list: `from` and `to` of the address, both inclusive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import TypeVar
from zoneinfo import ZoneInfo

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from communities.ground.sent_time import DAYS_REVERSED, FIRST_DAY, LAST_DAY

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class DayRange:
    """Rows whose `field` is in these days of the zone; None means no bound. `label` describes the field."""

    label: str
    field: str
    zone: ZoneInfo
    first: date | None
    last: date | None
    zone_reason: str = ""  # The reason why the zone is not that of the community.

    @property
    def since(self) -> datetime | None:
        return datetime.combine(self.first, time(), self.zone) if self.first else None

    @property
    def until(self) -> datetime | None:
        """The moment at which the last day ends."""
        return datetime.combine(self.last + timedelta(days=1), time(), self.zone) if self.last else None

    @property
    def parameters(self) -> Mapping[str, str]:
        return {name: f"{day}" for name, day in (("from", self.first), ("to", self.last)) if day}

    @property
    def fault(self) -> str:
        """Return the fault of the range, for the field of its last day; an empty text without a fault."""
        return DAYS_REVERSED if self.first and self.last and self.last < self.first else ""

    def narrow(self, rows: QuerySet[M]) -> QuerySet[M]:
        if self.since is not None:
            rows = rows.filter(**{f"{self.field}__gte": self.since})
        return rows if self.until is None else rows.filter(**{f"{self.field}__lt": self.until})


def of_address(request: HttpRequest, *, label: str, field: str, zone: ZoneInfo, reason: str = "") -> DayRange:
    """The range of the address. A text that is no day counts as absent."""
    return DayRange(label, field, zone, _day(request, "from"), _day(request, "to"), reason)


def _day(request: HttpRequest, name: str) -> date | None:
    try:
        day = date.fromisoformat(request.GET.get(name, ""))
    except ValueError:
        return None
    return max(FIRST_DAY, min(day, LAST_DAY))
