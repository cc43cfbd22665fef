"""The admin pages of members, their XP, achievements and roles."""

from xp.admin import (  # noqa: F401 - they register
    achievements,
    awards,
    ledger,
    members,
    membership,
    profile_sections,
    roles,
)
