from argparse import ArgumentParser
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from config import backups
from config.servers import CannotStart


class Command(BaseCommand):
    help = (
        "Writes all data into a new file, which `restore` reads. The site may be in use. SECRET_KEY is not "
        "in the file: keep it elsewhere."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="The new file.")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            manifest = backups.write(file, at=timezone.now())
        except FileExistsError:
            raise CommandError(f"{file} exists. Nothing was written.") from None
        except CalledProcessError as failure:
            raise CommandError(f"{failure.cmd} failed: {failure.stderr}. Nothing was written.") from failure
        except (CannotStart, OSError) as failure:
            raise CommandError(f"{failure} Nothing was written.") from failure
        self.stdout.write(
            f"Wrote {file}: {manifest.rows} rows of {len(manifest.counts)} tables in {file.stat().st_size} "
            "bytes. Keep SECRET_KEY too: without it the file cannot be restored."
        )
