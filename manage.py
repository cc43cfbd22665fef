#!/usr/bin/env python
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
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    command = sys.argv[1] if len(sys.argv) > 1 else "help"
    if command in COMMANDS_WITHOUT_SERVERS:
        os.environ.setdefault("COLLOQUY_SERVERS", "none")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
