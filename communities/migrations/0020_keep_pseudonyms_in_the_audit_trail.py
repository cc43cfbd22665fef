"""Entries of staff keep a pseudonym when the person is erased (decisions 18.12)."""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
from django.db import migrations, models

# As before, and: the pseudonym of an entry is set together with the removal of who acted, and never changes.
# Who acted as staff cannot be removed without one.
REFUSE_CHANGES = """
CREATE OR REPLACE FUNCTION communities_refuse_change_of_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
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
        OR NEW.actor_pseudonym <> OLD.actor_pseudonym
            AND NOT (OLD.actor_pseudonym = '' AND OLD.actor_id IS NOT NULL AND NEW.actor_id IS NULL)
        OR OLD.actor_id IS NOT NULL AND NEW.actor_id IS NULL
            AND NEW.actor_pseudonym = '' AND OLD.source IN ('admin', 'api_key')
    THEN
        RAISE EXCEPTION 'Audit entry % cannot be changed: the audit trail is only added to.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END
$$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("communities", "0016_keep_unproven_accounts_in_their_community"),
    ]

    operations = [
        migrations.AddField(
            model_name="auditentry",
            name="actor_pseudonym",
            field=models.CharField(
                blank=True,
                db_default="",
                help_text="In place of staff who were erased: one for each person and community, and random.",
                max_length=8,
            ),
        ),
        migrations.AlterField(
            model_name="auditentry",
            name="source",
            field=models.CharField(
                choices=[
                    ("api_key", "API key"),
                    ("admin", "Admin"),
                    ("member", "Member"),
                    ("system", "Colloquy"),
                ],
                max_length=7,
            ),
        ),
        migrations.RunSQL(REFUSE_CHANGES, migrations.RunSQL.noop),
        # The expression of a generated column cannot be changed, so the column is made again.
        migrations.RemoveIndex(model_name="auditentry", name="audit_words"),
        migrations.RemoveField(model_name="auditentry", name="words"),
        migrations.AddField(
            model_name="auditentry",
            name="words",
            field=models.GeneratedField(
                db_persist=True,
                expression=django.contrib.postgres.search.SearchVector(
                    "actor_name",
                    "actor_pseudonym",
                    "key_prefix",
                    "object_name",
                    "object_id",
                    config="simple",
                ),
                output_field=django.contrib.postgres.search.SearchVectorField(),
            ),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=django.contrib.postgres.indexes.GinIndex(fields=["words"], name="audit_words"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(
                condition=models.Q(("actor_pseudonym", ""), _negated=True),
                fields=["community", "actor_pseudonym", "-happened_at", "-id"],
                name="audit_newest_of_pseudonym",
            ),
        ),
    ]
