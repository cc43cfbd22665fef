"""Finding members and users by the words of their names, or by an id, only from indexes."""

from __future__ import annotations

from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db.models import QuerySet

from communities.ground.ids import id_of
from communities.ground.statements import fetch_rows
from communities.models import User
from communities.services.people import identities

MAX_FOUND = 500
NEWEST = 1_000  # These newest members are searched first.

# For a word that most members have, an index of words would read all rows before it returns the first row.
_AMONG_NEWEST = """
    SELECT id FROM (
        SELECT member.id, member.nick, person.name
        FROM communities_member member JOIN communities_user person ON person.id = member.user_id
        WHERE member.community_id = %(community)s ORDER BY member.id DESC LIMIT %(newest)s
    ) newest
    WHERE to_tsvector('simple', coalesce(nick, '')) @@ to_tsquery('simple', %(words)s)
        OR to_tsvector('simple', name) @@ to_tsquery('simple', %(words)s)
    ORDER BY id DESC LIMIT %(limit)s
"""
_BY_WORDS = """
    (
        SELECT id FROM communities_member
        WHERE community_id = %(community)s
            AND to_tsvector('simple', coalesce(nick, '')) @@ to_tsquery('simple', %(words)s)
        LIMIT %(limit)s
    )
    UNION
    (
        SELECT member.id FROM communities_user person
        JOIN communities_member member ON member.user_id = person.id AND member.community_id = %(community)s
        WHERE person.name <> ''
            AND to_tsvector('simple', coalesce(person.name, '')) @@ to_tsquery('simple', %(words)s)
        LIMIT %(limit)s
    )
    LIMIT %(limit)s
"""
_BY_ID = """
    SELECT member.id FROM communities_identity account
    JOIN communities_member member ON member.user_id = account.user_id AND member.community_id = %(community)s
    WHERE account.provider = ANY(%(providers)s) AND account.platform_id = %(term)s
        AND (account.community_id IS NULL OR account.community_id = %(community)s)
    UNION
    SELECT id FROM communities_member WHERE id = %(id)s AND community_id = %(community)s
"""


def find_members(*, community_id: int, term: str, by_all_accounts: bool = True) -> list[int]:
    """Return the ids of members whose nick or name contains words with the beginnings in `term`; at most
    MAX_FOUND.

    If enough of the NEWEST members match, only these are returned. Also finds a member by their complete id,
    and by the id of an account on the chat platform. With `by_all_accounts` it also finds them by an external
    id and by accounts on the other platforms that the community asks about.
    """
    own_id = id_of(term)
    values = {
        "community": community_id,
        "words": as_words(term),
        "term": term,
        "providers": identities.searched(community_id=community_id, all_accounts=by_all_accounts),
        "id": own_id,
        "limit": MAX_FOUND,
        "newest": NEWEST,
    }
    rows = fetch_rows(_AMONG_NEWEST, values)
    if len(rows) < MAX_FOUND:
        rows = fetch_rows(_BY_WORDS, values)
    return list({row[0] for row in (*rows, *fetch_rows(_BY_ID, values))})


def find_users(*, among: QuerySet[User], term: str, by_username: bool) -> set[int]:
    """Return the ids of users whose name contains words with the beginnings in `term`; at most MAX_FOUND.

    Also finds a user by their complete id. With `by_username`, also finds at most MAX_FOUND users whose user
    name begins with the term.
    """
    words = SearchQuery(as_words(term), config="simple", search_type="raw")
    named = among.exclude(name="").alias(words=SearchVector("name", config="simple")).filter(words=words)
    ids = {
        *named.order_by().values_list("pk", flat=True)[:MAX_FOUND],
        *(
            among.filter(username__startswith=term).order_by().values_list("pk", flat=True)[:MAX_FOUND]
            if by_username
            else ()
        ),
    }
    own_id = id_of(term)
    return ids if own_id is None else ids | {own_id}


def as_words(term: str) -> str:
    """Return the beginnings of words for `to_tsquery`, in quotes, so that no part of a word is an
    operator.
    """
    return " & ".join(_as_prefix(word) for word in term.split())


def _as_prefix(word: str) -> str:
    quoted = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{quoted}':*"
