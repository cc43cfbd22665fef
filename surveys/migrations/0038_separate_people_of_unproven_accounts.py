"""Gives each community a user of its own for an account that nobody has signed in with.

Before, all communities that wrote the same account down, and the chat platform, shared one user, who might also
have got a password from one of the communities (decisions 18.1 to 18.4). A membership stays with a user who has
a way to sign in only if they joined that community themselves. All others move, with their answers, to a new
user, who becomes the owner's at their next sign-in. `merged_ids` lets the new user be found by the keyed hashes
that anonymous projects keep of the earlier one.
"""

from django.db import migrations

SEPARATE = """
CREATE FUNCTION pg_temp.colloquy_move(member bigint, place bigint, earlier bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    fresh bigint;
BEGIN
    INSERT INTO communities_user (
        password, is_superuser, username, email, is_staff, is_active, date_joined, name, merged_ids
    )
    SELECT '', false, 'u-' || replace(gen_random_uuid()::text, '-', ''), '', false, is_active, date_joined, '',
        array_append(coalesce(merged_ids, '{}'), id)
    FROM communities_user WHERE id = earlier RETURNING id INTO fresh;
    UPDATE communities_member SET user_id = fresh WHERE id = member;
    UPDATE communities_mail SET user_id = fresh WHERE user_id = earlier AND community_id = place;
    UPDATE communities_apikey SET user_id = fresh WHERE user_id = earlier AND community_id = place;
    UPDATE communities_apikey SET rotated_by_id = fresh WHERE rotated_by_id = earlier AND community_id = place;
    UPDATE communities_community SET user_setup_id = fresh WHERE user_setup_id = earlier AND id = place;
    UPDATE communities_invitation SET created_by_id = fresh WHERE created_by_id = earlier AND community_id = place;
    UPDATE surveys_project SET author_id = fresh WHERE author_id = earlier AND community_id = place;
    UPDATE surveys_project SET deleted_by_id = fresh WHERE deleted_by_id = earlier AND community_id = place;
    UPDATE surveys_conversation own SET user_id = fresh FROM surveys_project project
        WHERE own.user_id = earlier AND project.id = own.project_id AND project.community_id = place;
    UPDATE surveys_scriptdraft own SET user_id = fresh FROM surveys_project project
        WHERE own.user_id = earlier AND project.id = own.project_id AND project.community_id = place;
    UPDATE surveys_personallink own SET created_by_id = fresh FROM surveys_project project
        WHERE own.created_by_id = earlier AND project.id = own.project_id AND project.community_id = place;
    UPDATE surveys_responsedeletion own SET requested_by_id = fresh FROM surveys_project project
        WHERE own.requested_by_id = earlier AND project.id = own.project_id AND project.community_id = place;
    RETURN fresh;
END
$$;

DO $$
DECLARE
    account record;
    place record;
    signs_in boolean;
    is_placed boolean;
    who bigint;
BEGIN
    FOR account IN
        SELECT * FROM communities_identity
        WHERE community_id IS NULL AND proven_at IS NULL AND provider <> 'web' ORDER BY id
    LOOP
        SELECT person.is_staff OR person.password <> '' AND person.password NOT LIKE '!%'
            OR EXISTS (SELECT FROM account_emailaddress WHERE user_id = person.id AND verified)
            OR EXISTS (SELECT FROM mfa_authenticator WHERE user_id = person.id)
            OR EXISTS (
                SELECT FROM communities_identity
                WHERE user_id = person.id AND community_id IS NULL AND proven_at IS NOT NULL
            )
        INTO signs_in FROM communities_user person WHERE person.id = account.user_id;
        is_placed := false;
        FOR place IN
            SELECT member.id, member.community_id FROM communities_member member
            WHERE member.user_id = account.user_id ORDER BY member.id
        LOOP
            IF signs_in AND (
                EXISTS (
                    SELECT FROM communities_auditentry
                    WHERE community_id = place.community_id AND action = 'member.joined'
                        AND actor_id = account.user_id
                ) OR EXISTS (
                    SELECT FROM communities_invitation
                    WHERE community_id = place.community_id AND accepted_by_id = account.user_id
                        AND accepted_at IS NOT NULL
                )
            ) THEN
                CONTINUE;
            END IF;
            IF signs_in OR is_placed THEN
                who := pg_temp.colloquy_move(place.id, place.community_id, account.user_id);
            ELSE
                who := account.user_id;
            END IF;
            INSERT INTO communities_identity (user_id, provider, platform_id, community_id, name)
            VALUES (who, account.provider, account.platform_id, place.community_id, '')
            ON CONFLICT DO NOTHING;
            is_placed := true;
        END LOOP;
        DELETE FROM communities_sourcetoken WHERE identity_id = account.id;
        DELETE FROM communities_sourcecheck WHERE identity_id = account.id;
        DELETE FROM communities_identity WHERE id = account.id;
    END LOOP;
END
$$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0037_keep_families_of_projects"),
        ("communities", "0015_find_users_by_merged_id"),
        ("account", "0009_emailaddress_unique_primary_email"),
        ("mfa", "0003_authenticator_type_uniq"),
    ]

    operations = [
        migrations.RunSQL(SEPARATE, migrations.RunSQL.noop),
    ]
