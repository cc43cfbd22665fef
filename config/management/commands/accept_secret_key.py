from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config import secret_key


class Command(BaseCommand):
    help = "Has the database expect the SECRET_KEY of this process, after it was changed on purpose."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        if not secret_key.is_current() and secret_key.is_right():
            raise CommandError(
                "SECRET_KEY_FALLBACKS has the earlier key: run `python manage.py reseal` instead."
            )
        if secret_key.is_current():
            secret_key.record()
            self.stdout.write("The database expects this SECRET_KEY already.")
            return
        secret_key.replace()
        self.stdout.write(
            "The database expects this SECRET_KEY from now on: restart all processes. Everybody is signed "
            "out, respondents who come back count as new ones, and each webhook needs a new secret "
            "(POST …/webhooks/{id}/rotate_secret)."
        )
