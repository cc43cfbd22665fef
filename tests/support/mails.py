"""The mails that were written, as their readers would read them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from communities import sealing
from communities.models import Mail


def written(to: str = "") -> Sequence[dict[str, Any]]:
    """The mails to an address, or all of them, oldest first."""
    rows = Mail.objects.order_by("created_at", "id")
    opened = [json.loads(sealing.unseal(row.sealed or b"", purpose="mails", row=row.pk)) for row in rows]
    return [mail for mail in opened if not to or mail["to"] == to]


def subjects(to: str = "") -> list[str]:
    return [mail["subject"] for mail in written(to)]


def path_in(mail: dict[str, Any]) -> str:
    """The path of the first address of our site in a mail."""
    found = re.search(r"https?://[^/\s]+(/\S+)", mail["text"])
    assert found is not None, mail["text"]
    return found[1]
