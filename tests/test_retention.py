"""What is kept how long: the table of chapter 12 has every table with times, and the worker deletes by it."""

from __future__ import annotations

import re
from pathlib import Path

from django.apps import apps
from django.db.models import DateField

CHAPTER = (Path(__file__).parents[1] / "config/docs/operation.md").read_text()


def test_every_table_with_times_is_in_the_table_or_kept_for_good() -> None:
    """Rule 12.570."""
    section = CHAPTER.split("## What is kept how long")[1].split("\n## ")[0]
    deleted = re.findall(
        r"`([a-z]+_[a-z]+(?:_[a-z]+)?)`", "".join(re.findall(r"^\|.*$", section, re.MULTILINE))
    )
    kept = re.findall(r"`([a-z_]+)`", section.split("Kept for good")[1])
    with_times = {
        model._meta.db_table
        for model in apps.get_models()
        if any(isinstance(field, DateField) for field in model._meta.get_fields())
    }

    tables = {name for name in deleted if not name.startswith("keep_")}

    assert tables | set(kept) == with_times
    assert not tables & set(kept)
    assert len(kept) == len(set(kept))
