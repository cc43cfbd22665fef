import json
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q
from django.utils import timezone

from communities.ground.errors import Conflict
from communities.ground.ids import id_of
from communities.ground.tiers import TIERS
from communities.management.naming import require_name
from communities.models import User
from communities.services.tenants import communities


class Command(BaseCommand):
    help = "Creates a community."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", required=True)
        parser.add_argument("--tier", choices=list(TIERS), default="basic")
        parser.add_argument("--id", type=_snowflake, help="The chat server's id. Random by default.")
        parser.add_argument("--credits", type=int, default=0, help="Credits for AI features.")
        parser.add_argument(
            "--admin", help="Who makes it, and is its first admin: a user name or mail address."
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object and nothing else.")

    def handle(self, *args: Any, **options: Any) -> None:
        name = require_name(options["name"])
        if options["credits"] < 0:
            raise CommandError("--credits must be 0 or more.")
        at = timezone.now()
        admin = _user(options["admin"]) if options["admin"] else None
        community_id = options["id"] or communities.propose_id(at=at)
        try:
            community = communities.create_community(
                by_user_id=admin.pk if admin else None,
                community_id=community_id,
                name=name,
                tier=options["tier"],
                bot_credits=options["credits"],
                at=at,
            )
        except Conflict:
            raise CommandError(f"--id {community_id} is the id of another community.") from None
        if options["json"]:
            self.stdout.write(json.dumps({"id": str(community.pk)}))
            return
        self.stdout.write(f"Created community {community.pk} ({community.name}).")
        if admin is None:
            self.stdout.write("Nobody is in it yet: name its admin by --admin, or use create_member.")


def _user(named: str) -> User:
    proven = Q(emailaddress__email__iexact=named, emailaddress__verified=True)
    found: User | None = User.objects.filter(Q(username=named) | proven, is_active=True).first()
    if found is None:
        raise CommandError(f"--admin {named} is neither a user name nor a confirmed mail address.")
    return found


def _snowflake(text: str) -> int:
    community_id = id_of(text)
    if community_id is None:
        raise ArgumentTypeError(
            f"{text} is not an id: it must be a whole number above 0 and of at most 63 bits."
        )
    return community_id
