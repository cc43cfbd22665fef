"""Entries keep a pseudonym in place of who gave by hand once that person is erased (decisions 18.12)."""

from django.db import migrations, models

# As before, and: the giver of an entry is replaced by a pseudonym, and nothing else of it, in a transaction
# that names the givers who are erased.
REFUSE_CHANGES = """
CREATE OR REPLACE FUNCTION xp_refuse_change_of_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF OLD.actor_id::text = ANY (string_to_array(current_setting('colloquy.erased_givers', true), ','))
            AND NEW.actor_id IS NULL AND OLD.actor_pseudonym = '' AND NEW.actor_pseudonym <> ''
            AND to_jsonb(NEW) - ARRAY['actor_id', 'actor_pseudonym']
                = to_jsonb(OLD) - ARRAY['actor_id', 'actor_pseudonym']
        THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'XP entry % cannot be changed: the ledger is only added to.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    -- Only when a person is erased, in a transaction that names them, their entries go.
    IF current_setting('colloquy.erased_member', true) IS DISTINCT FROM OLD.member_id::text THEN
        RAISE EXCEPTION 'XP entry % cannot be deleted: the ledger is only added to.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN OLD;
END
$$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("xp", "0009_skip_roles_of_people_who_left"),
    ]

    operations = [
        migrations.AddField(
            model_name="xpentry",
            name="actor_pseudonym",
            field=models.CharField(
                blank=True,
                db_default="",
                help_text="In place of a giver who was erased: the same as in the audit trail.",
                max_length=8,
            ),
        ),
        migrations.RunSQL(REFUSE_CHANGES, migrations.RunSQL.noop),
    ]
