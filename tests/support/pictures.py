"""Files with pictures, and copies that were fetched already."""

from __future__ import annotations

import io
import re

from django.utils import timezone
from PIL import Image

from communities.models import Picture
from communities.models.picture import random_name

GPS = 0x8825


def drawn(
    kind: str = "PNG", *, size: tuple[int, int] = (40, 20), colour: str = "teal", **options: object
) -> bytes:
    """A file with a picture of one colour."""
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, kind, **options)
    return file.getvalue()


def photo_of_home() -> bytes:
    """A JPEG that lies on its side, with the place where it was taken, a camera and a comment."""
    exif = Image.Exif()
    exif[0x0110] = "Camera of the author"
    exif[0x0112] = 6  # turn it clockwise to see it upright
    exif[GPS] = {1: "N", 2: (59.0, 54.0, 49.0), 3: "E", 4: (10.0, 45.0, 8.0)}
    return drawn("JPEG", exif=exif, comment=b"Taken at home")


def copied(community_id: int, address: str, *, width: int = 40, height: int = 20) -> Picture:
    """A copy that was fetched already."""
    content = drawn(size=(width, height))
    at = timezone.now()
    row, _ = Picture.objects.update_or_create(
        community_id=community_id,
        address=address,
        defaults={
            "name": random_name(),
            "content": content,
            "content_type": "image/png",
            "width": width,
            "height": height,
            "size": len(content),
            "wanted_at": at,
            "fetched_at": at,
            "due_at": None,
        },
    )
    return row


def foreign_pictures(page: str) -> list[str]:
    """The addresses from which a page would load pictures, and which are not of this site."""
    sources = re.findall(
        r"""<(?:img|image|source|video|link)\b[^>]*?\b(?:src|srcset|href)=["']([^"']*)""", page
    )
    return [each for each in sources if not each.startswith(("/", "data:", "#"))]
