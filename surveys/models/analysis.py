"""An analysis of a project's responses at the time when the analysis began."""

from __future__ import annotations

from typing import Any

import orjson
from django.conf import settings
from django.db import models

from surveys.models.job import Job
from surveys.models.project import Project

TEXTS_PER_CREDIT_UNIT = 100


class Analysis(Job):
    """Figures of all responses and, with AI, the themes of open-text answers.

    `revision` and `changes` are those of the project's script and tally when the analysis began: if both are
    unchanged, the responses are too. `checkpoint` says how far the texts have been read, for a worker that
    takes over.
    """

    class Covers(models.TextChoices):
        ALL = "all"
        COMPLETED = "completed"
        PARTIAL = "partial"

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    covers = models.CharField(max_length=9, choices=Covers, default=Covers.ALL)
    with_ai = models.BooleanField(default=True)
    revision = models.PositiveIntegerField()
    changes = models.BigIntegerField()
    completion_count = models.PositiveBigIntegerField(default=0)
    response_count = models.PositiveBigIntegerField(default=0)
    progress = models.FloatField(default=0.0, help_text="0 to 1.")
    checkpoint = models.JSONField(null=True, blank=True)
    summary = models.TextField(null=True, blank=True)  # noqa: DJ001
    # Text, because `jsonb` would lose the order of the fields.
    blocks_as_json = models.TextField(  # noqa: DJ001
        null=True, blank=True, help_text="`blocks` of the interface, as JSON."
    )
    scores_as_json = models.TextField(  # noqa: DJ001
        null=True, blank=True, help_text="`scores` of the interface, as JSON. Null: scoring was off."
    )
    variables_as_json = models.TextField(  # noqa: DJ001
        null=True, blank=True, help_text="`variables` of the interface, as JSON."
    )

    spending = models.JSONField(
        null=True, blank=True, help_text="Calls to a model, their tokens, and their cost in dollars."
    )

    class Meta:
        verbose_name_plural = "analyses"
        constraints = [
            models.UniqueConstraint(
                fields=["project", "with_ai", "covers"],
                condition=Job.UNFINISHED,
                name="analysis_runs_once_for_a_project",
            ),
        ]
        indexes = [models.Index(fields=["project", "-id"], name="analysis_newest_of_project")]

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The AnalysisBlocks; empty until the analysis is completed."""
        blocks: list[dict[str, Any]] = orjson.loads(self.blocks_as_json or "[]")
        return blocks

    @property
    def hundreds_read(self) -> int:
        """The number of started hundreds of answers that a model had read at the last checkpoint."""
        texts: int = (self.checkpoint or {}).get("read", 0)
        return -(-texts // TEXTS_PER_CREDIT_UNIT)

    @property
    def unread_credits(self) -> int:
        """The credits for answers that no model had read at the last checkpoint."""
        price: int = settings.CREDITS_FOR_100_TEXTS
        return max(0, self.credits_used - price * self.hundreds_read)

    @property
    def bulk_id(self) -> str | None:
        """The id of the bulk that a provider reads for it."""
        bulk: dict[str, str] = (self.checkpoint or {}).get("bulk") or {}
        return bulk.get("id")

    def __str__(self) -> str:
        return f"Analysis {self.pk} of project {self.project_id}"
