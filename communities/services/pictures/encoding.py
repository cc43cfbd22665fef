"""Converts a foreign picture into a file of ours. It reads the picture, rotates it upright, scales it down,
and encodes it.

Other contents of a file, such as the place where a photo was taken, are dropped. Only the first frame of an
animation remains.
"""

from __future__ import annotations

import hashlib
import io
import threading
from dataclasses import dataclass

import structlog
from PIL import Image, ImageOps

# SVG is missing, because an SVG file is a document, which may contain scripts and addresses.
FORMATS = ("JPEG", "PNG", "GIF", "WEBP")
MAX_PIXELS = 25_000_000
# A picture takes at most so many bytes in memory while it is read. Measured with Pillow 13: the decoder of
# WebP keeps several copies, one of progressive JPEG all coefficients, and transparent pixels are multiplied.
MAX_MEMORY = 150_000_000
_PLAIN, _TRANSPARENT, _PROGRESSIVE, _CMYK, _WEBP = 6, 10, 7, 12, 20  # bytes of a pixel
# A progressive JPEG has at most this many scans. Cameras and programs write about ten, and each scan decodes
# all pixels.
MAX_SCANS = 100
MAX_EDGE = 1_600  # In pixels. A page shows at most 608 pixels, and a screen may double them.
_UNREADABLE = "The file is no picture that can be shown. JPEG, PNG, GIF and WebP can."
_START_OF_SCAN = (
    b"\xff\xda"  # This sequence never occurs in a JPEG's data, where 0 follows 0xFF (ITU T.81, B.1.1.5).
)
_TYPES = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
# A process encodes one picture at a time, because each picture may take 100 MB and a second of CPU.
_one_at_a_time = threading.Lock()

log = structlog.get_logger("colloquy.pictures")


class NotAPicture(Exception):
    """This file cannot be shown. The message is a sentence that says why."""


@dataclass(frozen=True, slots=True)
class EncodedPicture:
    """A file of ours."""

    content: bytes
    content_type: str
    width: int
    height: int

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def encode(file: bytes, *, max_bytes: int) -> EncodedPicture:
    """Encode a picture again, in at most `max_bytes`. Raises NotAPicture."""
    with _one_at_a_time:
        try:
            return _encode(file, max_bytes)
        except NotAPicture:
            raise
        except Exception as failure:
            # Pillow raises a dozen undocumented exceptions for files that are broken or made to break it.
            log.info("pictures.unreadable", cause=type(failure).__name__, detail=str(failure))
            raise NotAPicture(_UNREADABLE) from failure


def _encode(file: bytes, max_bytes: int) -> EncodedPicture:
    with Image.open(io.BytesIO(file), formats=FORMATS) as source:  # This reads only the header.
        width, height = source.size
        most = min(MAX_PIXELS, MAX_MEMORY // _bytes_of_a_pixel(source))
        if width * height > most:
            raise NotAPicture(
                f"The picture has {width:,} by {height:,} pixels, which are more than {most:,}"
                f"{'' if most == MAX_PIXELS else ' for such a file. Save it as a plain JPEG, or smaller'}."
            )
        if source.format == "JPEG" and file.count(_START_OF_SCAN) > MAX_SCANS:
            raise NotAPicture("The picture is a JPEG of too many scans. Save it as a plain JPEG.")
        source.thumbnail((MAX_EDGE, MAX_EDGE))  # This decodes a JPEG at a fraction of its size.
        picture = ImageOps.exif_transpose(source)
        is_photo = source.format == "JPEG"
    if is_photo:
        kind, content = "JPEG", _written(picture.convert("RGB"), "JPEG", quality=85)
    else:
        picture = picture.convert("RGBA" if picture.has_transparency_data else "RGB")
        kind, content = "PNG", _written(picture, "PNG")
        if len(content) > max_bytes:
            kind, content = "WEBP", _written(picture, "WEBP", quality=85)
    if len(content) > max_bytes:
        raise NotAPicture("The picture takes too many bytes.")
    return EncodedPicture(content, _TYPES[kind], *picture.size)


def _bytes_of_a_pixel(source: Image.Image) -> int:
    if source.format == "WEBP":
        return _WEBP
    if source.format == "JPEG":
        is_progressive = bool(source.info.get("progressive"))
        return _PLAIN if not is_progressive else _CMYK if source.mode == "CMYK" else _PROGRESSIVE
    return _TRANSPARENT if source.mode in ("RGBA", "LA") else _PLAIN


def _written(picture: Image.Image, kind: str, **options: int) -> bytes:
    """Return a new file with only the pixels, because Pillow would also write other data from the source."""
    bare = Image.new(picture.mode, picture.size)
    bare.paste(picture)
    file = io.BytesIO()
    bare.save(file, kind, **options)
    return file.getvalue()
