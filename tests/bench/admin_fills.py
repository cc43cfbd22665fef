"""The rows for row 24 in the tables behind the lists of the admin, each table by one statement."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.bench.world import COMMUNITY_ID

Loading = psycopg.Connection[Any]
WEBHOOKS = 4

# The project with all responses, the one with all analyses, and the member with the whole ledger.
PROJECT = "(SELECT min(id) FROM surveys_project WHERE community_id = %(community)s AND type = 'convo')"
ADMIN = "(SELECT min(id) FROM communities_member WHERE community_id = %(community)s AND access = 'admin')"


def _run(loading: Loading, count: int, *statements: str) -> None:
    for statement in statements:
        loading.execute(statement, {"community": COMMUNITY_ID, "count": count})


def projects(loading: Loading, count: int) -> None:
    """One in a thousand is open, one in a hundred a poll; a fifth has responses."""
    _run(
        loading,
        count,
        f"""
        INSERT INTO surveys_project (community_id, author_id, slug, name, type, status, created_at,
            is_cloneable, revision, block_count, question_count, privacy_mode, rounds_times_to_day,
            share_results, participation, response_channel, scoring_enabled, script_is_scored)
        SELECT %(community)s, member.user_id, substr(md5(n::text), 1, 16),
            (ARRAY['Survey', 'Feedback', 'Quiz', 'Vote'])[1 + n %% 4] || ' ' || substr(md5(n::text), 1, 6)
                || ' of week ' || n %% 52,
            CASE WHEN n %% 100 = 0 THEN 'poll' ELSE 'convo' END,
            CASE WHEN n %% 1000 = 0 THEN 'active' ELSE 'inactive' END,
            to_timestamp(1500000000 + n * 60), true, 1, 3, 3, 'transparent', false, false, 'private', 'web',
            false, false
        FROM generate_series(1, %(count)s) n, communities_member member WHERE member.id = {ADMIN}
        """,
        """
        INSERT INTO surveys_tally (project_id, slot, answered, completed, listed)
        SELECT id, slot, 3, 1, 1 FROM surveys_project, generate_series(0, 3) slot
        WHERE community_id = %(community)s AND id %% 5 = 0 ON CONFLICT DO NOTHING
        """,
    )


def members(loading: Loading, count: int) -> None:
    """Half have a nick, one in fifty has left, one in a thousand makes surveys."""
    _run(
        loading,
        count,
        """
        INSERT INTO communities_user (username, name, password, is_superuser, email, is_staff, is_active,
            date_joined)
        SELECT 'listed ' || n, 'Person ' || substr(md5(n::text), 1, 8), '', false, '', false, true, now()
        FROM generate_series(1, %(count)s) n
        """,
        """
        INSERT INTO communities_identity (user_id, provider, platform_id, proven_at)
        SELECT id, 'chat', id, now() FROM communities_user WHERE username LIKE 'listed %%'
        """,
        """
        INSERT INTO communities_member (community_id, user_id, access, nick, joined_at, left_at)
        SELECT %(community)s, id, CASE WHEN id %% 1000 = 7 THEN 'creator' ELSE 'member' END,
            CASE WHEN id %% 2 = 0 THEN 'Nick ' || substr(md5(name), 1, 8) END,
            now() - id * interval '1 minute', CASE WHEN id %% 50 = 0 THEN now() END
        FROM communities_user WHERE username LIKE 'listed %%'
        """,
        """
        INSERT INTO xp_standing (member_id, community_id, xp_total, month, xp_in_month, participation)
        SELECT id, community_id, 1 + (hashint8(id) & 4095), date_trunc('month', now() AT TIME ZONE 'UTC'),
            1 + (hashint8(id) & 255), 3
        FROM communities_member WHERE community_id = %(community)s ON CONFLICT DO NOTHING
        """,
    )


def responses(loading: Loading, count: int) -> None:
    """All to one project, by members where there are any; one in twenty is not complete."""
    _run(
        loading,
        count,
        f"""
        INSERT INTO surveys_conversation (id, project_id, user_id, provider, respondent, session_number,
            seed, state, is_listed, started_at, updated_at, completed_at)
        SELECT (lpad(to_hex(1750000000000 + n), 12, '0') || '7' || substr(hash, 1, 3) || 'a'
                || substr(hash, 4, 15))::uuid,
            {PROJECT}, people.first + n %% people.count, 'web', hash || hash, 1, n, '{{}}', true,
            to_timestamp(1750000000 + n), to_timestamp(1750000060 + n),
            CASE WHEN n %% 20 <> 0 THEN to_timestamp(1750000060 + n) END
        FROM generate_series(1, %(count)s) n, md5(n || ' listed') hash,
            (SELECT min(id) AS first, count(*) AS count FROM communities_user
             WHERE username LIKE 'listed %%' OR username = '') people
        """,
        f"""
        INSERT INTO surveys_tally (project_id, slot, answered, completed, listed)
        VALUES ({PROJECT}, 15, %(count)s, %(count)s, %(count)s) ON CONFLICT DO NOTHING
        """,
    )


def answers(loading: Loading, count: int) -> None:
    """In words, to the two open questions of that project: by every response, and by one in 400."""
    _run(
        loading,
        count,
        f"""
        INSERT INTO surveys_answer (conversation_id, block_id, ordinal, value)
        SELECT conversation.id, question.id, 0, 'More evenings for beginners, please, and on '
            || substr(md5(seed::text), 1, 6) || ' the coffee was cold. Thank you for number ' || seed || '.'
        FROM surveys_conversation conversation, (
            SELECT id, row_number() OVER (ORDER BY id) AS place FROM surveys_block
            WHERE project_id = {PROJECT} AND type = 'open_text'
        ) question
        WHERE project_id = {PROJECT} AND is_listed AND (place = 1 OR (place = 2 AND seed %% 400 = 0))
        ON CONFLICT DO NOTHING
        """,
    )


def achievements(loading: Loading, count: int) -> None:
    """A thousand achievements. Number 1 is earned by every member."""
    _run(
        loading,
        count,
        """
        INSERT INTO xp_achievement (community_id, number, name)
        SELECT %(community)s, n, 'Badge ' || n FROM generate_series(1, 1000) n ON CONFLICT DO NOTHING
        """,
        """
        INSERT INTO xp_earnedachievement (member_id, community_id, number, name, awarded_at)
        SELECT id, community_id, 1, 'Regular', now() FROM communities_member
        WHERE community_id = %(community)s LIMIT %(count)s
        """,
    )


def grants(loading: Loading, count: int) -> None:
    """One in a thousand waits."""
    _run(
        loading,
        count,
        """
        INSERT INTO xp_rolegrant (member_id, community_id, role_id, project_name, created_at, carried_out_at)
        SELECT id, community_id, '12345', 'Survey', now(), CASE WHEN id %% 1000 <> 0 THEN now() END
        FROM communities_member WHERE community_id = %(community)s LIMIT %(count)s
        """,
    )


def ledger(loading: Loading, count: int) -> None:
    """Entries of one member; one in a thousand is made by hand."""
    _run(
        loading,
        count,
        f"""
        INSERT INTO xp_xpentry (member_id, delta, balance_after, source_kind, survey_name, created_at)
        SELECT {ADMIN}, 10, 10 * n, CASE WHEN n %% 1000 = 0 THEN 'admin_manual' ELSE 'survey_completion' END,
            'Survey', to_timestamp(1500000000 + n)
        FROM generate_series(1, %(count)s) n
        """,
    )


def deliveries(loading: Loading, count: int) -> None:
    """Deliveries of an event each, to a few webhooks; one in a thousand was given up.

    No two at the same time.
    """
    _run(
        loading,
        count,
        f"""
        INSERT INTO webhooks_webhook (community_id, name, url, events, sealed_secret, secret_prefix,
            is_active, created_at, updated_at)
        SELECT %(community)s, 'Listed ' || n, 'https://example.org/' || n, '{{*}}', '', 'whsec_', true,
            now(), now() FROM generate_series(1, {WEBHOOKS}) n
        """,
        """
        INSERT INTO webhooks_event (id, community_id, type, body, is_settled, created_at)
        SELECT md5(n || ' listed')::uuid, %(community)s, 'response.submitted', '{"data": {}}', true,
            to_timestamp(1750000000 + n)
        FROM generate_series(1, %(count)s) n
        """,
        f"""
        INSERT INTO webhooks_delivery (id, webhook_id, event_id, partition, status, attempt_count,
            even_if_off, is_settled, created_at)
        SELECT event.id, hooks.ids[1 + second %% {WEBHOOKS}], event.id, 0,
            CASE WHEN second %% 1000 = 0 THEN 'abandoned' ELSE 'delivered' END, 1, false, true, created_at
        FROM webhooks_event event, LATERAL (SELECT extract(epoch FROM created_at)::bigint AS second) at,
            (SELECT array_agg(id) AS ids FROM webhooks_webhook WHERE name LIKE 'Listed %%') hooks
        WHERE type = 'response.submitted'
        """,
    )


def analyses(loading: Loading, count: int) -> None:
    """All of one project; one in a thousand failed."""
    _run(
        loading,
        count,
        f"""
        INSERT INTO surveys_analysis (project_id, covers, with_ai, revision, changes, completion_count,
            response_count, progress, status, attempt, deaths, credits_used, created_at, completed_at)
        SELECT {PROJECT}, 'all', false, 1, n, 0, 0, 1,
            CASE WHEN n %% 1000 = 0 THEN 'failed' ELSE 'completed' END, 1, 0, 0, now(), now()
        FROM generate_series(1, %(count)s) n
        """,
    )


def audit(loading: Loading, count: int) -> None:
    """By one admin, about all projects."""
    _run(
        loading,
        count,
        f"""
        INSERT INTO communities_auditentry (id, community_id, happened_at, source, actor_id, actor_name,
            key_prefix, action, object_type, object_id, object_name, project_id)
        SELECT (lpad(to_hex(1750000000000 + n), 12, '0') || '7' || substr(hash, 1, 3) || 'a'
                || substr(hash, 4, 15))::uuid, %(community)s, to_timestamp(1750000000 + n), 'admin',
            member.user_id, 'Admin', '', 'project.updated', 'project', n, 'Survey ' || substr(hash, 1, 6),
            {PROJECT}
        FROM generate_series(1, %(count)s) n, md5(n || ' audited') hash, communities_member member
        WHERE member.id = {ADMIN}
        """,
    )
