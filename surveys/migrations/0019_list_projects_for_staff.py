import django.db.models.functions.text
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.contrib.postgres.search import SearchVector
from django.db import migrations, models

NEWEST = ["-created_at", "-id"]
WORDS = SearchVector(
    models.Func(models.F("name"), models.Value("._-/@:'+"), models.Value(" " * 8), function="translate"),
    config="simple",
)


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("surveys", "0018_delete_projects_for_now"),
    ]

    operations = [
        AddIndexConcurrently("project", index)
        for index in (
            models.Index(
                models.F("community"),
                django.db.models.functions.text.Lower("name"),
                models.F("id"),
                condition=models.Q(("deleted_at__isnull", True)),
                include=["name"],
                name="project_by_name_and_words",
            ),
            models.Index(fields=["community", "type", *NEWEST], name="project_newest_of_type"),
            models.Index(fields=["community", "author", *NEWEST], name="project_newest_by_author"),
            models.Index(
                condition=models.Q(("status", "active"), ("opens_at__isnull", False), _connector="OR"),
                fields=["community", *NEWEST],
                name="project_newest_active",
            ),
            models.Index(
                condition=models.Q(("opens_at__isnull", True), ("status", "inactive")),
                fields=["community", *NEWEST],
                name="project_newest_inactive",
            ),
            GinIndex(WORDS, name="project_by_words"),
            models.Index(
                condition=models.Q(("deleted_at__isnull", False)),
                fields=["deleted_at"],
                name="project_deleted",
            ),
        )
    ]
