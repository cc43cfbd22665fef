"""The job that counts a part of very many responses."""

from __future__ import annotations

from django.db import models

from surveys.models.job import Job
from surveys.models.project import Project


class ResultsCount(Job):
    """Filtered or segmented results of a project, counted by a worker. Deleted an hour after the end.

    `part` is what is counted: the filters and `segment_by`, in one order. `changes` are those of the tally
    when the count began. `sealed` are the figures, encrypted: compared with later answers they would tell
    what the latest respondents of an anonymous project answered.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    part = models.TextField(help_text="Filters and segmentation, as JSON.")
    revision = models.PositiveIntegerField()
    changes = models.BigIntegerField()
    progress = models.FloatField(default=0.0, help_text="0 to 1.")
    sealed = models.BinaryField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "part", "revision"],
                condition=Job.UNFINISHED,
                name="results_are_counted_once_at_a_time",
            ),
        ]
        indexes = [models.Index(fields=["project", "-id"], name="results_count_of_project")]

    def __str__(self) -> str:
        return f"Count {self.pk} of results of project {self.project_id}"
