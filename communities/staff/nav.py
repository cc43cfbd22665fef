"""Entries of the side bar."""

from __future__ import annotations

from typing import NamedTuple


class Nav(NamedTuple):
    """An entry of the side bar. `icon` is a symbol of `admin/icons.svg`; entries are sorted by `order`."""

    label: str
    icon: str
    order: int
    is_operations: bool = False
