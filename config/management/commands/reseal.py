"""Seals again with SECRET_KEY what keys of SECRET_KEY_FALLBACKS have sealed.

Every row is changed on its own, and only if it is still as it was read. So the command may be stopped at any
time and run again, also beside a site in use.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.models import Max, Model

from communities.accounts import adapters
from communities.ground import sealing
from communities.ground.sealing import SealedColumn
from communities.ground.statements import page_up_to_size
from communities.models import IdempotentRequest
from communities.services.chat import outbox
from communities.services.mail import mails
from communities.services.people import source_tokens
from config import secret_key
from surveys.services.ground import anonymity
from surveys.services.links import fields
from webhooks.services import sealed_secrets

BATCH = 500  # rows. A batch of large values ends earlier.
ROWS_BETWEEN_NOTICES = 5_000


def columns() -> tuple[SealedColumn, ...]:
    """Every column with data that SECRET_KEY has sealed and that outlives a day."""
    of_one = (adapters.SEALED, outbox.SEALED, mails.SEALED, source_tokens.SEALED, fields.SEALED)
    return (*of_one, *anonymity.SEALED_COLUMNS, *sealed_secrets.SEALED_COLUMNS)


class Command(BaseCommand):
    help = (
        "Seals all data with SECRET_KEY that keys of SECRET_KEY_FALLBACKS have sealed, and says when those "
        "keys can go. It can be stopped and run again."
    )
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        if not secret_key.is_right():
            raise CommandError(secret_key.WRONG)
        if not settings.SECRET_KEY_FALLBACKS:
            self.stdout.write("SECRET_KEY_FALLBACKS is empty, so there is nothing to seal again.")
            return
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
        try:
            lost = sum(self._reseal(column) for column in columns())
            secret_key.move()
        finally:
            if not connection.in_atomic_block:
                connection.close()  # The next connection has the usual timeout.
        if lost:
            self.stdout.write(f"{lost} values can be read with none of the keys, and stay as they are.")
        self._say_when_keys_can_go()

    def _reseal(self, column: SealedColumn) -> int:
        """Seal one column again. Returns the number of values that cannot be read."""
        count = changed = lost = 0
        name = f"{column.model._meta.verbose_name_plural} ({column.name})"
        for row in _rows(column):
            count += 1
            try:
                changed += _reseal_row(column, row)
            except sealing.Unreadable:
                lost += 1
            if count % ROWS_BETWEEN_NOTICES == 0:
                self.stdout.write(f"{name}: {count} looked at, {changed} sealed again ...")
                self.stdout.flush()
        self.stdout.write(f"{name}: {count} looked at, {changed} sealed again.")
        return lost

    def _say_when_keys_can_go(self) -> None:
        self.stdout.write("Nothing that is stored for longer than a day needs SECRET_KEY_FALLBACKS any more.")
        latest = IdempotentRequest.objects.aggregate(latest=Max("expires_at"))["latest"]
        if latest is not None:
            self.stdout.write(
                f"Requests are sent again with their Idempotency-Key until {latest:%Y-%m-%d %H:%M} UTC."
            )
        self.stdout.write(
            "Without SECRET_KEY_FALLBACKS, what its keys have signed ends: sessions of people who have not "
            "come back since, cookies of respondents, personal links and links in mails of before, buttons "
            "of messages in chat that were posted before, and cursors of the feed of changes."
        )


def _rows(column: SealedColumn) -> Iterator[Model]:
    filled = column.model._base_manager.exclude(**{column.name: None}).order_by("pk")
    rows, has_more = filled, True
    while has_more:
        batch, has_more = page_up_to_size(rows, texts=[column.name], per_page=BATCH)
        yield from batch
        if batch:
            rows = filled.filter(pk__gt=batch[-1].pk)


def _reseal_row(column: SealedColumn, row: Model) -> int:
    """Seal a value again, unless SECRET_KEY has sealed it or it has changed since it was read. Returns the
    number of changed rows. Raises Unreadable.
    """
    stored = getattr(row, column.name)
    sealed = bytes.fromhex(stored.get(column.path, "")) if column.path else bytes(stored)
    renewed = sealing.renewed(sealed, seal=column.seal_of(row)) if sealed else None
    if renewed is None:
        return 0
    value: Any = renewed
    if column.path:
        value = deepcopy(stored) | {column.path: renewed.hex()}
    unchanged = column.model._base_manager.filter(pk=row.pk, **{column.name: stored})
    return unchanged.update(**{column.name: value}, **column.also)
