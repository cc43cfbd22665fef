"""The charts that staff have chosen of a project's results."""

from __future__ import annotations

from django.db import models

from surveys.models.project import Project


class Dashboard(models.Model):
    """Charts of questions in an order of their own, of responses that an expression selects, maybe weighted.

    If it is shared, the address of the shared results shows it in place of all questions.
    """

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="dashboard")
    title = models.CharField(max_length=200, blank=True)
    block_ids = models.JSONField(default=list)
    where = models.TextField(blank=True)
    weight_by = models.CharField(max_length=40, blank=True)
    is_shared = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"Dashboard of project {self.project_id}"

    @property
    def is_narrowed(self) -> bool:
        """Whether its figures are others than those of all responses."""
        return bool(self.where or self.weight_by)
