"""A file with responses that staff import, and the job that checks and stores them."""

from __future__ import annotations

from django.db import models

from surveys.models.job import Job
from surveys.models.project import Project


class ResponseFile(Job):
    """The file of a project that is being imported. Another file replaces it; it is deleted after a day.

    The status is completed while staff match its columns, or read what a step found. `sealed` contains the
    table and `sealed_faults` the faults of its rows, encrypted, because both contain answers. `matching` says
    how columns are read (`surveys.services.imports.matching`). `done` counts the rows that the step has read,
    and `counts` what became of them.
    """

    class Step(models.TextChoices):
        MATCHING = "matching"
        CHECKING = "checking"
        IMPORTING = "importing"

    project = models.OneToOneField(Project, models.CASCADE, related_name="+")
    step = models.CharField(max_length=9, choices=Step, default=Step.MATCHING)
    name = models.CharField(max_length=200, blank=True)
    sealed = models.BinaryField()
    sealed_faults = models.BinaryField(null=True, blank=True)
    matching = models.JSONField(default=dict)
    row_count = models.PositiveIntegerField()
    done = models.PositiveIntegerField(default=0)
    counts = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="response_file_by_age")]

    def __str__(self) -> str:
        return f"File {self.pk} of responses of project {self.project_id}"
