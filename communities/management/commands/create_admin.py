import getpass
import os
import sys
from typing import Any

from allauth.account.models import EmailAddress
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email
from django.db import IntegrityError, transaction

from communities.management.naming import require_name
from communities.models import User
from communities.services.mail import mails


class Command(BaseCommand):
    help = (
        "Creates a superuser who signs in with a mail address. Takes --email or ADMIN_EMAIL, and "
        "ADMIN_PASSWORD. Asks on a terminal for what is missing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--email", help="The sign-in address. Default: ADMIN_EMAIL.")
        parser.add_argument("--name", default="Admin", help="The name that others see. Default: Admin.")

    def handle(self, *args: Any, **options: Any) -> None:
        name = require_name(options["name"])
        email = _require_address(options["email"] or os.environ.get("ADMIN_EMAIL") or _ask_address())
        if _exists(email):
            self.stdout.write(f"{email} is a superuser already. Nothing was changed.")
            return
        user = User(username=email[:150], name=name, email=email, is_staff=True, is_superuser=True)
        password = os.environ.get("ADMIN_PASSWORD") or _ask_password()
        try:
            validate_password(password, user)
        except ValidationError as refusal:
            raise CommandError(f"The password cannot be used: {' '.join(refusal.messages)}") from None
        user.set_password(password)
        try:
            with transaction.atomic():
                user.save()
                EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
        except IntegrityError:
            raise CommandError(f"--email {email} is the user name or address of another account.") from None
        self.stdout.write(f"Created the superuser {email}. Sign in at /account/login/.")


def _exists(email: str) -> bool:
    """Whether a superuser signs in with this address. Raises CommandError if somebody else does."""
    owner = User.objects.filter(emailaddress__email__iexact=email, emailaddress__verified=True).first()
    if owner is not None and not (owner.is_superuser and owner.is_active):
        raise CommandError(f"--email {email} belongs to an account that is no active superuser.")
    return owner is not None


def _require_address(text: str) -> str:
    email = text.strip().lower()
    try:
        validate_email(email)
    except ValidationError:
        raise CommandError(f"--email {email} is not a mail address.") from None
    if not mails.is_sendable(email):
        raise CommandError(f"--email {email} is an address that no mail can be sent to.")
    return email


def _ask_address() -> str:
    if not sys.stdin.isatty():
        raise CommandError("--email is missing: pass it, or set ADMIN_EMAIL.")
    return input("Mail address: ")


def _ask_password() -> str:
    if not sys.stdin.isatty():
        raise CommandError("ADMIN_PASSWORD is not set, and no terminal is there to ask for a password.")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Password, once more: ") != password:
        raise CommandError("The two passwords differ. Nothing was created.")
    return password
