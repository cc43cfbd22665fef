"""Addresses of a project's script and blocks."""

from __future__ import annotations

from typing import Any


def path_of(project: dict[str, Any]) -> str:
    """The address of a project's script."""
    return f"/projects/{project['id']}/script"


def block_path(project: dict[str, Any], n: int = 0) -> str:
    """The address of block `n` of a project's script."""
    return f"{path_of(project)}/blocks/{project['script']['blocks'][n]['id']}"
