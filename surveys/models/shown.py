"""The figures that were last shown of an anonymous project."""

from __future__ import annotations

from django.db import models

from surveys.models.project import Project


class ShownFigures(models.Model):
    """The figures that people who may not read single responses see, until enough other responses differ.

    `sealed` is encrypted with a key that is not in the database. Otherwise the difference to the stored
    answers would reveal the answers of the last few people. See `surveys.services.results.steps`.
    """

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="+")
    sealed = models.BinaryField()

    class Meta:
        verbose_name_plural = "shown figures"

    def __str__(self) -> str:
        return f"Shown figures of project {self.project_id}"
