from argparse import ArgumentParser
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config import backups
from config.servers import CannotStart


class Command(BaseCommand):
    help = "Restores a file that `backup` wrote into an empty database, and checks the numbers of rows."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="A file that `backup` wrote.")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            manifest = backups.restore(file)
        except CalledProcessError as failure:
            raise CommandError(f"{failure.cmd} failed: {failure.stderr}. Nothing was restored.") from failure
        except (CannotStart, backups.CannotRestore, OSError) as failure:
            raise CommandError(str(failure)) from failure
        self.stdout.write(
            f"Restored {manifest.rows} rows of {len(manifest.counts)} tables as of {manifest.made_at}. "
            "Run `migrate`, and start all processes."
        )
