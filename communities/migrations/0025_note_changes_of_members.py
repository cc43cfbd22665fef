"""Keeps the time of a member's last change, and notes who has to be announced, whoever writes the rows.

A member changes with their own row, with their user's name, and with the account on the chat platform that is
shown of them. What members earn does not count. Beside anonymous answers the transaction sets
`colloquy.rounded_to` to `hour` or `day`: then no stored time is finer, and the member is announced at the end of
the hour or day. Members from before have the time of this migration: nobody knows when they last changed.
"""

import django.db.models.functions.datetime
from django.db import migrations, models

NOTE_CHANGES = """
CREATE FUNCTION communities_rounding() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT nullif(current_setting('colloquy.rounded_to', true), '')
$$;

CREATE FUNCTION communities_time_of_change() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
    SELECT date_trunc(coalesce(communities_rounding(), 'microseconds'), clock_timestamp(), 'UTC')
$$;

CREATE FUNCTION communities_announce_member(who bigint, place bigint) RETURNS void LANGUAGE sql AS $$
    INSERT INTO communities_memberchange AS noted (member_id, community_id, due_at)
    VALUES (
        who, place,
        communities_time_of_change() + coalesce('1 ' || communities_rounding(), '0 hours')::interval
    )
    ON CONFLICT (member_id) DO UPDATE SET due_at = least(noted.due_at, excluded.due_at)
$$;

CREATE FUNCTION communities_stamp_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF communities_rounding() IS NOT NULL THEN
            NEW.updated_at := communities_time_of_change();
        END IF;
    ELSIF communities_shown(OLD) IS DISTINCT FROM communities_shown(NEW) THEN
        NEW.updated_at := greatest(communities_time_of_change(), OLD.updated_at);
    ELSE
        NEW.updated_at := greatest(NEW.updated_at, OLD.updated_at);
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION communities_note_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM communities_memberchange WHERE member_id = OLD.id;
    ELSIF TG_OP = 'INSERT' OR communities_shown(OLD) IS DISTINCT FROM communities_shown(NEW) THEN
        PERFORM communities_announce_member(NEW.id, NEW.community_id);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION communities_touch_member(who bigint, place bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE communities_member SET updated_at = communities_time_of_change() WHERE id = who;
    PERFORM communities_announce_member(who, place);
END
$$;

CREATE FUNCTION communities_touch_members_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM communities_touch_member(id, community_id) FROM (
        SELECT id, community_id FROM communities_member WHERE user_id = NEW.id ORDER BY id
    ) own;
    RETURN NULL;
END
$$;

CREATE FUNCTION communities_touch_members_of_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM communities_touch_member(own.id, own.community_id)
    FROM (
        SELECT id, user_id, community_id FROM communities_member
        WHERE user_id IN (OLD.user_id, NEW.user_id) ORDER BY id
    ) own
    CROSS JOIN LATERAL (
        SELECT array_agg(account.platform_id ORDER BY account.id) AS now FROM communities_identity account
        WHERE account.user_id = own.user_id AND account.provider = 'chat'
            AND (account.community_id IS NULL OR account.community_id = own.community_id)
    ) shown
    CROSS JOIN LATERAL (
        SELECT array_agg(account.platform_id ORDER BY account.id) AS before FROM (
            SELECT id, user_id, provider, platform_id, community_id FROM communities_identity
            WHERE user_id = own.user_id AND id IS DISTINCT FROM NEW.id
            UNION ALL
            SELECT OLD.id, OLD.user_id, OLD.provider, OLD.platform_id, OLD.community_id
            WHERE OLD.user_id = own.user_id
        ) account
        WHERE account.provider = 'chat'
            AND (account.community_id IS NULL OR account.community_id = own.community_id)
    ) earlier
    WHERE shown.now[1] IS DISTINCT FROM earlier.before[1];
    RETURN NULL;
END
$$;

-- What the interface returns of the row, but for the time. A column that is added to that is added here.
CREATE FUNCTION communities_shown(member communities_member) RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY[
        member.user_id::text, member.access, nullif(member.nick, ''), nullif(member.avatar_url, ''),
        member.joined_at::text, member.left_at::text
    ]
$$;

CREATE TRIGGER member_is_stamped BEFORE INSERT OR UPDATE ON communities_member
    FOR EACH ROW EXECUTE FUNCTION communities_stamp_member();
CREATE TRIGGER member_is_noted AFTER INSERT OR UPDATE OR DELETE ON communities_member
    FOR EACH ROW EXECUTE FUNCTION communities_note_member();
CREATE TRIGGER name_touches_members AFTER UPDATE OF name ON communities_user
    FOR EACH ROW WHEN (OLD.name IS DISTINCT FROM NEW.name)
    EXECUTE FUNCTION communities_touch_members_of_user();
-- Its name has it run after `identity_of_who_signs_in_is_proven`, which locks the user.
CREATE TRIGGER identity_touches_members_created AFTER INSERT ON communities_identity
    FOR EACH ROW WHEN (NEW.provider = 'chat') EXECUTE FUNCTION communities_touch_members_of_account();
CREATE TRIGGER identity_touches_members_changed
    AFTER UPDATE OF user_id, provider, platform_id, community_id ON communities_identity
    FOR EACH ROW WHEN (OLD.provider = 'chat' OR NEW.provider = 'chat')
    EXECUTE FUNCTION communities_touch_members_of_account();
CREATE TRIGGER identity_touches_members_deleted AFTER DELETE ON communities_identity
    FOR EACH ROW WHEN (OLD.provider = 'chat') EXECUTE FUNCTION communities_touch_members_of_account();
"""
FORGET_CHANGES = """
DROP TRIGGER identity_touches_members_deleted ON communities_identity;
DROP TRIGGER identity_touches_members_changed ON communities_identity;
DROP TRIGGER identity_touches_members_created ON communities_identity;
DROP TRIGGER name_touches_members ON communities_user;
DROP TRIGGER member_is_noted ON communities_member;
DROP TRIGGER member_is_stamped ON communities_member;
DROP FUNCTION communities_shown(communities_member);
DROP FUNCTION communities_touch_members_of_account();
DROP FUNCTION communities_touch_members_of_user();
DROP FUNCTION communities_touch_member(bigint, bigint);
DROP FUNCTION communities_note_member();
DROP FUNCTION communities_stamp_member();
DROP FUNCTION communities_announce_member(bigint, bigint);
DROP FUNCTION communities_time_of_change();
DROP FUNCTION communities_rounding();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("communities", "0024_hash_recovery_codes"),
    ]

    operations = [
        migrations.AddField(
            model_name="member",
            name="updated_at",
            field=models.DateTimeField(
                db_default=django.db.models.functions.datetime.Now(),
                editable=False,
                help_text="When something last changed that the interface returns, but for what members earn."
                " The database keeps it.",
            ),
        ),
        migrations.AddIndex(
            model_name="member",
            index=models.Index(fields=["community", "updated_at"], name="member_by_change"),
        ),
        migrations.AddIndex(
            model_name="member",
            index=models.Index(
                models.F("community"),
                models.Func(
                    models.F("joined_at"), template="coalesce(%(expressions)s, 'infinity'::timestamptz)"
                ),
                models.F("id"),
                name="member_by_joining",
            ),
        ),
        migrations.CreateModel(
            name="MemberChange",
            fields=[
                ("member_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("community_id", models.BigIntegerField()),
                (
                    "due_at",
                    models.DateTimeField(help_text="Beside anonymous answers, the end of the hour or day."),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["due_at"], name="member_change_due")],
            },
        ),
        migrations.RunSQL(NOTE_CHANGES, FORGET_CHANGES),
    ]
