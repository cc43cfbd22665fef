"""Colloquy's commands: `colloquy` where the package is installed, and `manage.py` beside the sources."""

import os
import sys

from django.core.management import execute_from_command_line

COMMANDS_WITHOUT_SERVERS = {
    "collectstatic",
    "findstatic",
    "help",
    "reset",
    "spectacular",
    "version",
    "--help",
    "--version",
}


def main() -> None:
    """Run the command that the arguments of this process name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    command = sys.argv[1] if len(sys.argv) > 1 else "help"
    if command in COMMANDS_WITHOUT_SERVERS:
        os.environ.setdefault("COLLOQUY_SERVERS", "none")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
