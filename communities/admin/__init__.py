"""The admin pages of this app. The pages of members are in `xp.admin`, which also shows what
members earned.
"""

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
