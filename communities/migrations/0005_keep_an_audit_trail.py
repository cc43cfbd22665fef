"""The audit trail, which is only added to, whoever writes to it."""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.db import migrations, models


# When a person is erased, in a transaction that names their community, what tells of them is removed: it
# becomes empty, and nothing else changes. Entries are deleted by age, in a transaction that says since when
# they are kept.
REFUSE_CHANGES = """
CREATE FUNCTION communities_refuse_change_of_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.happened_at < nullif(current_setting('colloquy.audit_kept_since', true), '')::timestamptz THEN
            RETURN OLD;
        END IF;
        RAISE EXCEPTION 'Audit entry % cannot be deleted: the audit trail is only added to.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF current_setting('colloquy.erased_in_community', true) IS DISTINCT FROM OLD.community_id::text
        OR (NEW.id, NEW.community_id, NEW.happened_at, NEW.source, NEW.action, NEW.object_type)
            IS DISTINCT FROM (OLD.id, OLD.community_id, OLD.happened_at, OLD.source, OLD.action, OLD.object_type)
        OR NEW.project_id IS DISTINCT FROM OLD.project_id
        OR NEW.actor_id IS DISTINCT FROM OLD.actor_id AND NEW.actor_id IS NOT NULL
        OR NEW.actor_name IS DISTINCT FROM OLD.actor_name AND NEW.actor_name <> ''
        OR NEW.api_key_id IS DISTINCT FROM OLD.api_key_id AND NEW.api_key_id IS NOT NULL
        OR NEW.key_prefix IS DISTINCT FROM OLD.key_prefix AND NEW.key_prefix <> ''
        OR NEW.object_id IS DISTINCT FROM OLD.object_id AND NEW.object_id IS NOT NULL
        OR NEW.object_name IS DISTINCT FROM OLD.object_name AND NEW.object_name <> ''
        OR NEW.before IS DISTINCT FROM OLD.before AND NEW.before IS NOT NULL
        OR NEW.after IS DISTINCT FROM OLD.after AND NEW.after IS NOT NULL
        OR NEW.request_id IS DISTINCT FROM OLD.request_id AND NEW.request_id IS NOT NULL
    THEN
        RAISE EXCEPTION 'Audit entry % cannot be changed: the audit trail is only added to.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER audit_entry_stays_as_it_is BEFORE UPDATE OR DELETE ON communities_auditentry
    FOR EACH ROW EXECUTE FUNCTION communities_refuse_change_of_audit_entry();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("communities", "0004_keep_the_time_zone"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        help_text="Ordered by time, but random if `happened_at` is rounded.",
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("happened_at", models.DateTimeField()),
                (
                    "source",
                    models.CharField(
                        choices=[("api_key", "API key"), ("admin", "Admin"), ("system", "Colloquy")],
                        max_length=7,
                    ),
                ),
                ("actor_id", models.BigIntegerField(help_text="The user's id.", null=True)),
                ("actor_name", models.CharField(blank=True, help_text="As it was then.", max_length=200)),
                ("api_key_id", models.BigIntegerField(null=True, verbose_name="API key")),
                ("key_prefix", models.CharField(blank=True, max_length=14)),
                ("action", models.CharField(max_length=30)),
                ("object_type", models.CharField(max_length=20)),
                ("object_id", models.CharField(max_length=36, null=True)),
                ("object_name", models.CharField(blank=True, help_text="As it was then.", max_length=200)),
                ("project_id", models.BigIntegerField(null=True)),
                ("before", models.JSONField(null=True)),
                ("after", models.JSONField(null=True)),
                ("request_id", models.CharField(max_length=64, null=True)),
                (
                    "words",
                    models.GeneratedField(
                        db_persist=True,
                        expression=django.contrib.postgres.search.SearchVector(
                            "actor_name", "key_prefix", "object_name", "object_id", config="simple"
                        ),
                        output_field=django.contrib.postgres.search.SearchVectorField(),
                    ),
                ),
                (
                    "community",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="communities.community",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "audit entries",
                "indexes": [
                    models.Index(
                        fields=["community", "-happened_at", "-id"], name="audit_newest_in_community"
                    ),
                    models.Index(
                        condition=models.Q(("project_id__isnull", False)),
                        fields=["project_id", "-happened_at", "-id"],
                        name="audit_newest_of_project",
                    ),
                    models.Index(
                        fields=["community", "action", "-happened_at", "-id"], name="audit_newest_of_action"
                    ),
                    models.Index(
                        condition=models.Q(("actor_id__isnull", False)),
                        fields=["community", "actor_id", "-happened_at", "-id"],
                        name="audit_newest_of_actor",
                    ),
                    models.Index(
                        condition=models.Q(("object_id__isnull", False)),
                        fields=["community", "object_type", "object_id"],
                        name="audit_entries_of_object",
                    ),
                    django.contrib.postgres.indexes.GinIndex(fields=["words"], name="audit_words"),
                    django.contrib.postgres.indexes.BrinIndex(fields=["happened_at"], name="audit_by_age"),
                ],
            },
        ),
        migrations.RunSQL(
            REFUSE_CHANGES,
            "DROP TRIGGER audit_entry_stays_as_it_is ON communities_auditentry;"
            " DROP FUNCTION communities_refuse_change_of_audit_entry();",
        ),
    ]
