"""An invitation of a known member is accepted for a reader only while that member has no account.

The reader is given the member's user, or the member. An account that its owner proves at the same moment would
be the reader's, with everything that other communities wrote about it. So whoever accepts the invitation and
whoever proves an account lock the same user (decisions 18.1 and 18.3). Members who are signed in accept their
own invitation with the account that they have.
"""

from django.db import migrations

REFUSE = """
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

DROP TRIGGER identity_of_who_signs_in_is_proven ON communities_identity;
CREATE TRIGGER identity_of_who_signs_in_is_proven
    AFTER INSERT OR UPDATE OF user_id, community_id, provider, proven_at ON communities_identity
    FOR EACH ROW WHEN (NEW.provider <> 'web') EXECUTE FUNCTION communities_check_identity();
"""

ALLOW = """
DROP TRIGGER identity_of_who_signs_in_is_proven ON communities_identity;
CREATE TRIGGER identity_of_who_signs_in_is_proven
    AFTER INSERT OR UPDATE OF user_id, community_id, provider ON communities_identity
    FOR EACH ROW WHEN (NEW.provider <> 'web') EXECUTE FUNCTION communities_check_identity();

DROP TRIGGER accepted_invitation_was_for_no_account ON communities_invitation;
DROP FUNCTION communities_check_accepted_invitation();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("account", "0009_emailaddress_unique_primary_email"),
        ("communities", "0025_note_changes_of_members"),
        ("mfa", "0003_authenticator_type_uniq"),
    ]

    operations = [migrations.RunSQL(REFUSE, ALLOW)]
