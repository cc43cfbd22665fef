"""Services of this app. Other apps need the names below most often."""

from communities.services.tenants.credits import (
    can_pay_follow_up,
    return_credits,
    return_follow_up,
    spend_credits,
    spend_for_follow_up,
)
from communities.services.tenants.settings import count_projects, get_settings

__all__ = [
    "can_pay_follow_up",
    "count_projects",
    "get_settings",
    "return_credits",
    "return_follow_up",
    "spend_credits",
    "spend_for_follow_up",
]
