"""What the database itself holds for members, accounts and the audit trail."""

from django.db import migrations

# The audit trail is only added to, whoever writes to it. When a person is erased, in a transaction that names
# their community, the columns that tell of them become empty, and nothing else changes. The pseudonym of an entry is
# set together with the removal of its actor, and never changes; staff cannot be removed without one. Entries are
# deleted by age, in a transaction that says since when they are kept.
AUDIT_TRAIL = """
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

CREATE TRIGGER audit_entry_stays_as_it_is BEFORE UPDATE OR DELETE ON communities_auditentry
    FOR EACH ROW EXECUTE FUNCTION communities_refuse_change_of_audit_entry();
"""

# An account that nobody has signed in with holds in one community, and its user has no way to sign in
# (rules 7.22 and 7.26). Two transactions may store the account and the way to sign in at the same moment.
# So a transaction that stores an account locks its user, as the change of a password does.
UNPROVEN_ACCOUNTS = """
CREATE FUNCTION communities_refuse_unproven_account(who bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'User % has a way to sign in, and so no account that is not proven.', who
        USING ERRCODE = 'check_violation', CONSTRAINT = 'identity_of_who_signs_in_is_proven';
END
$$;

CREATE FUNCTION communities_has_unproven_account(who bigint) RETURNS boolean LANGUAGE sql AS $$
    SELECT EXISTS (
        SELECT FROM communities_identity
        WHERE user_id = who AND community_id IS NOT NULL AND provider <> 'web'
    )
$$;

CREATE FUNCTION communities_check_identity() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM communities_user WHERE id = NEW.user_id FOR NO KEY UPDATE;
    IF communities_has_unproven_account(NEW.user_id) AND (
        EXISTS (
            SELECT FROM communities_user
            WHERE id = NEW.user_id AND password <> '' AND password NOT LIKE '!%'
        )
        OR EXISTS (SELECT FROM mfa_authenticator WHERE user_id = NEW.user_id)
        OR EXISTS (
            SELECT FROM communities_identity WHERE user_id = NEW.user_id AND community_id IS NULL
        )
    ) THEN
        PERFORM communities_refuse_unproven_account(NEW.user_id);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION communities_check_way_to_sign_in() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    who bigint := (to_jsonb(NEW) ->> TG_ARGV[0])::bigint;
BEGIN
    PERFORM FROM communities_user WHERE id = who FOR NO KEY UPDATE;
    IF communities_has_unproven_account(who) THEN
        PERFORM communities_refuse_unproven_account(who);
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER identity_of_who_signs_in_is_proven
    AFTER INSERT OR UPDATE OF user_id, community_id, provider, proven_at ON communities_identity
    FOR EACH ROW WHEN (NEW.provider <> 'web') EXECUTE FUNCTION communities_check_identity();

CREATE TRIGGER password_is_for_proven_accounts
    AFTER INSERT OR UPDATE OF password ON communities_user
    FOR EACH ROW WHEN (NEW.password <> '' AND NEW.password NOT LIKE '!%')
    EXECUTE FUNCTION communities_check_way_to_sign_in('id');

CREATE TRIGGER factor_is_for_proven_accounts
    AFTER INSERT OR UPDATE OF user_id ON mfa_authenticator
    FOR EACH ROW EXECUTE FUNCTION communities_check_way_to_sign_in('user_id');
"""

# An invitation of a known member is accepted for a reader only while that member has no account. The reader is
# given the member's user, or the member. An account that its owner proves at the same moment would be the
# reader's, with everything that other communities wrote about it. So accepting the invitation and proving an
# account lock the same user (rules 7.22 and 7.25). Members who are signed in accept their own invitation with
# the account that they have.
INVITATIONS = """
CREATE FUNCTION communities_check_accepted_invitation() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    who bigint := (SELECT user_id FROM communities_member WHERE id = NEW.member_id);
BEGIN
    IF who = NEW.accepted_by_id THEN
        RETURN NULL;
    END IF;
    PERFORM FROM communities_user WHERE id = who FOR NO KEY UPDATE;
    IF EXISTS (SELECT FROM communities_user WHERE id = who AND password <> '' AND password NOT LIKE '!%')
        OR EXISTS (SELECT FROM account_emailaddress WHERE user_id = who AND verified)
        OR EXISTS (SELECT FROM mfa_authenticator WHERE user_id = who)
        OR EXISTS (SELECT FROM communities_identity WHERE user_id = who AND proven_at IS NOT NULL)
    THEN
        RAISE EXCEPTION 'Invitation % is for a member who has an account, user %.', NEW.id, who
            USING ERRCODE = 'check_violation', CONSTRAINT = 'accepted_invitation_was_for_no_account';
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER accepted_invitation_was_for_no_account
    AFTER UPDATE OF accepted_at ON communities_invitation
    FOR EACH ROW
    WHEN (OLD.accepted_at IS NULL AND NEW.accepted_at IS NOT NULL AND NEW.member_id IS NOT NULL)
    EXECUTE FUNCTION communities_check_accepted_invitation();
"""

# The database keeps the time of a member's last change and notes who has to be announced. A member changes with
# their own row, with their user's name, and with the account on the chat platform that is shown of them. What
# members earn does not count. Beside anonymous answers the transaction sets `colloquy.rounded_to` to `hour` or
# `day`: then no stored time is finer, and the member is announced at the end of the hour or day.
CHANGES_OF_MEMBERS = """
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


class Migration(migrations.Migration):
    dependencies = [
        ("communities", "0001_initial"),
        ("account", "0009_emailaddress_unique_primary_email"),
        ("mfa", "0003_authenticator_type_uniq"),
    ]

    operations = [
        migrations.RunSQL(
            AUDIT_TRAIL,
            "DROP FUNCTION communities_refuse_change_of_audit_entry() CASCADE",
        ),
        migrations.RunSQL(
            UNPROVEN_ACCOUNTS,
            "DROP FUNCTION communities_refuse_unproven_account(bigint), "
            "communities_has_unproven_account(bigint), communities_check_identity(), "
            "communities_check_way_to_sign_in() CASCADE",
        ),
        migrations.RunSQL(
            INVITATIONS,
            "DROP FUNCTION communities_check_accepted_invitation() CASCADE",
        ),
        migrations.RunSQL(
            CHANGES_OF_MEMBERS,
            "DROP FUNCTION communities_rounding(), communities_time_of_change(), "
            "communities_announce_member(bigint, bigint), communities_stamp_member(), "
            "communities_note_member(), communities_touch_member(bigint, bigint), "
            "communities_touch_members_of_user(), communities_touch_members_of_account(), "
            "communities_shown(communities_member) CASCADE",
        ),
    ]
