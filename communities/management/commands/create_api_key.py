import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from communities.ground.errors import Refusal
from communities.management.naming import require_name
from communities.models import ApiKey, Community, Member
from communities.services.api_keys import keys
from communities.services.people import members


class Command(BaseCommand):
    help = "Creates an API key, and a new member of the given role to own it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--community", type=int, required=True, help="The community's id.")
        parser.add_argument("--role", choices=Member.Access.values, default=Member.Access.ADMIN)
        parser.add_argument(
            "--name", default="Command line", help="The name of the key, and of the new member."
        )
        parser.add_argument(
            "--scope", choices=ApiKey.Scope.values, default=ApiKey.Scope.ALL, help="The requests it may send."
        )
        parser.add_argument("--member", type=int, help="A member to own the key, instead of a new one.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object and nothing else.")

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        name = require_name(options["name"])
        community_id, at = options["community"], timezone.now()
        if not Community.objects.filter(pk=community_id, test_of=None).exists():
            raise CommandError(f"--community {community_id} does not exist.")
        if options["member"] is None:
            member = members.create_member(
                community_id=community_id, name=name, access=options["role"], at=at
            )
        else:
            member = _member(community_id, options["member"])
        try:
            key, secret = keys.create_key(
                actor=None,
                community_id=community_id,
                user_id=member.user_id,
                name=name,
                scope=options["scope"],
                at=at,
            )
        except Refusal as refusal:
            raise CommandError(refusal.message) from None
        as_json = json.dumps({"id": str(key.pk), "key": secret})
        self.stdout.write(
            as_json if options["json"] else f"Created API key {key.pk}. It is shown only once:\n{secret}"
        )


def _member(community_id: int, member_id: int) -> Member:
    member = Member.objects.filter(community_id=community_id, pk=member_id, left_at__isnull=True).first()
    if member is None:
        raise CommandError(f"--member {member_id} is not a present member of community {community_id}.")
    return member
