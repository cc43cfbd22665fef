"""What the database itself holds for the ledger."""

from django.db import migrations

# The ledger is only added to, whoever writes to it; TRUNCATE, which tests need, is no row's trigger. A pseudonym
# replaces the giver of an entry, and nothing else of it, in a transaction that names the givers who are erased
# (rules 7.20 and 7.21).
LEDGER = """
CREATE FUNCTION xp_refuse_change_of_entry() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE TRIGGER xp_entry_stays_as_it_is BEFORE UPDATE OR DELETE ON xp_xpentry
    FOR EACH ROW EXECUTE FUNCTION xp_refuse_change_of_entry();
"""

# A connection plans the look at the newest entry once. While the table was small that was a scan of it all,
# which then grew with every entry until statistics were gathered: 0.15 to 0.34 ms of CPU for an award.
CHAIN = """
CREATE FUNCTION xp_hold_entry_to_the_chain() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    newest record;
BEGIN
    SELECT id, balance_after INTO newest FROM xp_xpentry
        WHERE member_id = NEW.member_id ORDER BY id DESC LIMIT 1;
    IF newest.id >= NEW.id THEN
        RAISE EXCEPTION 'XP entry % of member % is older than their newest, %.', NEW.id, NEW.member_id, newest.id
            USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.balance_after IS DISTINCT FROM coalesce(newest.balance_after, 0) + NEW.delta THEN
        RAISE EXCEPTION 'The balance of member % is %: % more cannot leave %.',
            NEW.member_id, coalesce(newest.balance_after, 0), NEW.delta, NEW.balance_after
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER xp_entry_goes_on_from_the_newest BEFORE INSERT ON xp_xpentry
    FOR EACH ROW EXECUTE FUNCTION xp_hold_entry_to_the_chain();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("xp", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL(
            LEDGER,
            "DROP FUNCTION xp_refuse_change_of_entry() CASCADE",
        ),
        migrations.RunSQL(
            CHAIN,
            "DROP FUNCTION xp_hold_entry_to_the_chain() CASCADE",
        ),
    ]
