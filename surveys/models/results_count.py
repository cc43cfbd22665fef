"""The job that counts a part of very many responses."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import MD5

from surveys.models.job import Job
from surveys.models.project import Project


class ResultsCount(Job):
    """Filtered or segmented results of a project, counted by a worker.

    The row is deleted an hour after the end. `part` describes what is counted: the filters, `segment_by`,
    whether scores are counted, and the declarations of the fields among these, in a fixed order. It is
    indexed by its hash, because values of many fields are too long for an index. `changes` are those of the
    tally when the count began. `sealed` contains the figures, encrypted: compared with later answers they
    would reveal what the latest respondents of an anonymous project answered.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    part = models.TextField(help_text="Filters and segmentation, as JSON.")
    revision = models.PositiveIntegerField()
    changes = models.BigIntegerField()
    progress = models.FloatField(default=0.0, help_text="0 to 1.")
    sealed = models.BinaryField(null=True, blank=True)
    violations = models.JSONField(
        null=True,
        blank=True,
        help_text="Violations of a refused count, as in the interface. Null: the count was not refused.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "project",
                MD5("part"),
                "revision",
                condition=Job.UNFINISHED,
                name="results_are_counted_once_at_a_time",
            ),
        ]
        indexes = [models.Index(fields=["project", "-id"], name="results_count_of_project")]

    def __str__(self) -> str:
        return f"Count {self.pk} of results of project {self.project_id}"
