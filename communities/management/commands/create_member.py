import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from communities.management.naming import require_name
from communities.models import Community, Member
from communities.services.people import members


class Command(BaseCommand):
    help = "Creates a person and makes them a member of a community."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--community", type=int, required=True, help="The community's id.")
        parser.add_argument("--name", required=True)
        parser.add_argument("--access", choices=Member.Access.values, default=Member.Access.MEMBER)
        parser.add_argument("--json", action="store_true", help="Print one JSON object and nothing else.")

    def handle(self, *args: Any, **options: Any) -> None:
        name = require_name(options["name"])
        if not Community.objects.filter(pk=options["community"], test_of=None).exists():
            raise CommandError(f"--community {options['community']} does not exist.")
        member = members.create_member(
            community_id=options["community"],
            name=name,
            access=options["access"],
            at=timezone.now(),
        )
        as_json = json.dumps({"id": str(member.pk), "user_id": str(member.user_id)})
        self.stdout.write(
            as_json if options["json"] else f"Created member {member.pk} (user {member.user_id})."
        )
