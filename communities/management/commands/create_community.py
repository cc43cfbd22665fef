import json
import secrets
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError, transaction
from django.utils import timezone

from communities.ground.audit_actions import Action
from communities.ground.tiers import TIERS
from communities.management.naming import require_name
from communities.models import Community, CommunitySettings
from communities.services.tenants.communities import id_of
from communities.services.trail import audit


class Command(BaseCommand):
    help = "Creates a community."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", required=True)
        parser.add_argument("--tier", choices=list(TIERS), default="basic")
        parser.add_argument("--id", type=_snowflake, help="The chat server's id. Random by default.")
        parser.add_argument("--credits", type=int, default=0, help="Credits for AI features.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object and nothing else.")

    def handle(self, *args: Any, **options: Any) -> None:
        name = require_name(options["name"])
        if options["credits"] < 0:
            raise CommandError("--credits must be 0 or more.")
        community_id = options["id"] or secrets.randbits(62) + 1
        at = timezone.now()
        try:
            with transaction.atomic():
                community = Community.objects.create(
                    id=community_id,
                    name=name,
                    tier=options["tier"],
                    bot_credits=options["credits"],
                    created_date=at,
                )
                CommunitySettings.objects.create(community=community)
                audit.record(
                    actor=None,
                    action=Action.COMMUNITY_CREATED,
                    on=audit.Subject(community.pk, "community", community.pk, name),
                    at=at,
                    after={"tier": options["tier"], "bot_credits": options["credits"]},
                )
        except IntegrityError:
            raise CommandError(f"--id {community_id} is the id of another community.") from None
        as_json = json.dumps({"id": str(community.pk)})
        self.stdout.write(
            as_json if options["json"] else f"Created community {community.pk} ({community.name})."
        )


def _snowflake(text: str) -> int:
    community_id = id_of(text)
    if community_id is None:
        raise ArgumentTypeError(
            f"{text} is not an id: it must be a whole number above 0 and of at most 63 bits."
        )
    return community_id
