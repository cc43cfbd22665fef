import os
import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config import embedded

# Everything that Colloquy writes to VAR_DIR, except the lock files in run/.
DATA = ("postgres-*", "demo.json", "demo.new", "secret_key", "beat-schedule*", "static", "metrics", "log")


class Command(BaseCommand):
    help = (
        "Deletes the embedded database and everything else that `make run` has stored in VAR_DIR. Asks first."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--no-input", action="store_true", help="Deletes without asking.")

    def handle(self, *args: Any, no_input: bool, **options: Any) -> None:
        if os.environ.get("DATABASE_URL"):
            raise CommandError(
                "DATABASE_URL is set, and this deletes the embedded database only: "
                "unset DATABASE_URL, or drop and create your own database."
            )
        paths = list(_data())
        if not paths:
            self.stdout.write(f"{settings.VAR_DIR} has no data to delete.")
            return
        with embedded.all_stopped(var_dir=settings.VAR_DIR) as are_stopped:
            if not are_stopped:
                raise CommandError(
                    f"Colloquy is running on {settings.VAR_DIR}: stop it first, with Ctrl-C in its terminal."
                )
            if not (no_input or self._is_confirmed(paths)):
                raise CommandError("Nothing was deleted.")
            for path in paths:
                _delete(path)
        self.stdout.write("All data is deleted. `make run` starts with a new demo.")

    def _is_confirmed(self, paths: list[Path]) -> bool:
        if not sys.stdin.isatty():
            raise CommandError(
                "Nothing was deleted: run `CONFIRM=yes make reset` to delete without a question."
            )
        self.stdout.write(f"This deletes all communities, surveys and responses in {settings.VAR_DIR}:")
        self.stdout.write(f"  {', '.join(sorted(path.name for path in paths))}")
        self.stdout.flush()
        return input("Type yes to delete them: ").strip() == "yes"


def _data() -> Iterator[Path]:
    for pattern in DATA:
        yield from settings.VAR_DIR.glob(pattern)


def _delete(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError as error:
        raise CommandError(f"{path} cannot be deleted ({error.strerror}): delete it yourself.") from error
