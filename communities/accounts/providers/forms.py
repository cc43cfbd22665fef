"""The form of connected accounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.socialaccount import forms as allauth_forms
from django import forms
from django.contrib import messages
from django.utils import timezone
from django.utils.functional import cached_property

from communities.accounts.providers.freshness import require_fresh_sign_in
from communities.ground.errors import Refusal
from communities.ground.ids import MAX_ID
from communities.identity_providers import platforms
from communities.models import Identity
from communities.services.people import identities


@dataclass(frozen=True, slots=True)
class ConnectedAccount:
    """One row of the page."""

    identity: Identity
    platform: str

    @property
    def last_used_at(self) -> datetime | None:
        moment = self.identity.proven_at
        return moment and timezone.localtime(moment)


class DisconnectForm(allauth_forms.DisconnectForm):
    """Disconnects one account of the person who is signed in."""

    account = forms.IntegerField(required=True, min_value=1, max_value=MAX_ID)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.request = kwargs.pop("request")
        forms.Form.__init__(self, *args, **kwargs)

    @cached_property
    def rows(self) -> Sequence[ConnectedAccount]:
        connected = identities.connected(user_id=self.request.user.pk)
        return [ConnectedAccount(each, platforms.NAMES[each.provider]) for each in connected]

    def clean(self) -> dict[str, Any]:
        return forms.Form.clean(self) or {}

    def save(self) -> None:
        """Disconnect the account, and report it by mail. A refusal becomes a message."""
        require_fresh_sign_in(self.request)
        identity_id = self.cleaned_data["account"]
        row = next((each for each in self.rows if each.identity.pk == identity_id), None)
        try:
            identities.disconnect(user_id=self.request.user.pk, identity_id=identity_id)
        except Refusal as refusal:
            messages.error(self.request, refusal.message)
            return
        platform = row.platform if row else ""
        messages.success(self.request, f"Your {platform} account is disconnected.")
        get_adapter(self.request).send_notification_mail(
            "socialaccount/email/account_disconnected", self.request.user, context={"platform": platform}
        )
