"""Writes mails as files if there is no mail server.

The files contain secret links, so only the account of this process can read them.
"""

from __future__ import annotations

import os
from typing import Any

from django.core.mail.backends.filebased import EmailBackend as FileBackend

FOLDER_MODE, FILE_MODE = 0o700, 0o600


class EmailBackend(FileBackend):
    """Django's backend for mails as files, with `FILE_MODE` in a folder with `FOLDER_MODE` (rule 12.9).

    The permissions of a file or folder are narrowed if they are wider.
    """

    file_path: str
    stream: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        os.chmod(self.file_path, FOLDER_MODE)

    def open(self) -> bool:
        if self.stream is not None:
            return False
        name = self._get_filename()  # type: ignore[attr-defined]  # the stubs lack it
        descriptor = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, FILE_MODE)
        os.fchmod(descriptor, FILE_MODE)
        self.stream = os.fdopen(descriptor, "ab")
        return True
