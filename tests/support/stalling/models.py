from django.db import models


class Thing(models.Model):
    number = models.IntegerField(null=True)
    more = models.IntegerField(null=True)

    class Meta:
        indexes = [models.Index(fields=["number"], name="thing_by_number")]

    def __str__(self) -> str:
        return f"Thing {self.pk}"


class Other(models.Model):
    def __str__(self) -> str:
        return f"Other {self.pk}"
