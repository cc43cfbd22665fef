"""The columns and documents that contain addresses of pictures: each app adds its places when it is loaded.

Pictures at these addresses are fetched and stored; pictures without an address are deleted.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A query that returns `community_id` and `address` for each address in a place. Some addresses may be
    null.

    `columns` are the columns that the query reads, as `table.column`. With them, a test finds columns without
    a place.
    """

    columns: tuple[str, ...]
    query: str


_places: list[Place] = [
    Place(
        ("communities_community.icon_url",),
        "SELECT id AS community_id, icon_url AS address FROM communities_community",
    ),
    *(
        Place(
            (f"communities_communitysettings.{name}",),
            f"SELECT community_id, {name} AS address FROM communities_communitysettings "
            f"WHERE {name} IS NOT NULL",
        )
        for name in ("logo_url", "background_url")
    ),
]


def add(*places: Place) -> None:
    """Add places. Called while the apps are loaded; a place that was added before is not added again."""
    _places.extend(place for place in places if place not in _places)


def all_places() -> tuple[Place, ...]:
    """The places of all apps."""
    return tuple(_places)


def addresses_in_use() -> str:
    """A query of all addresses in all places: `community_id`, `address`."""
    parts = " UNION ".join(f"({each.query})" for each in _places)
    return f"SELECT community_id, address FROM ({parts}) AS placed WHERE address > ''"
