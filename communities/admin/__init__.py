"""The admin pages of this app. Members have theirs in `xp.admin`, which tells what they earned."""

from communities.admin import (  # noqa: F401 - they register
    audit,
    chat,
    communities,
    community_page,
    home,
    keys,
    requests,
    users,
    verified_sources,
)
