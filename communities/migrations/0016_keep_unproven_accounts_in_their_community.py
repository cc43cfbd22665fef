"""An account that nobody has signed in with holds in one community, and its user has no way to sign in.

The way to sign in and the account may be stored at the same moment by two transactions. So whoever stores an
account locks its user, as the change of a password does (decisions 18.1 and 18.4).
"""

from django.db import migrations, models

REFUSE = """
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
    AFTER INSERT OR UPDATE OF user_id, community_id, provider ON communities_identity
    FOR EACH ROW WHEN (NEW.provider <> 'web') EXECUTE FUNCTION communities_check_identity();

CREATE TRIGGER password_is_for_proven_accounts
    AFTER INSERT OR UPDATE OF password ON communities_user
    FOR EACH ROW WHEN (NEW.password <> '' AND NEW.password NOT LIKE '!%')
    EXECUTE FUNCTION communities_check_way_to_sign_in('id');

CREATE TRIGGER factor_is_for_proven_accounts
    AFTER INSERT OR UPDATE OF user_id ON mfa_authenticator
    FOR EACH ROW EXECUTE FUNCTION communities_check_way_to_sign_in('user_id');
"""

ALLOW = """
DROP TRIGGER factor_is_for_proven_accounts ON mfa_authenticator;
DROP TRIGGER password_is_for_proven_accounts ON communities_user;
DROP TRIGGER identity_of_who_signs_in_is_proven ON communities_identity;
DROP FUNCTION communities_check_way_to_sign_in();
DROP FUNCTION communities_check_identity();
DROP FUNCTION communities_has_unproven_account(bigint);
DROP FUNCTION communities_refuse_unproven_account(bigint);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("communities", "0015_find_users_by_merged_id"),
        ("mfa", "0003_authenticator_type_uniq"),
        ("surveys", "0038_separate_people_of_unproven_accounts"),
    ]

    operations = [
        migrations.AlterField(
            model_name="identity",
            name="proven_at",
            field=models.DateTimeField(
                blank=True,
                help_text=(
                    "When the user last signed in with it or, in a community, first acted there; null: never."
                ),
                null=True,
            ),
        ),
        migrations.AddConstraint(
            model_name="identity",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("community__isnull", False),
                    models.Q(("proven_at__isnull", False), models.Q(("provider", "web"), _negated=True)),
                    _connector="OR",
                ),
                name="identity_of_no_community_is_proven",
            ),
        ),
        migrations.RunSQL(REFUSE, ALLOW),
    ]
