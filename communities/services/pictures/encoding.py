"""Converts a foreign picture into a file of ours. It reads the picture, rotates it upright, scales it down,
and encodes it.

Other contents of a file, such as the place where a photo was taken, are dropped. Only the first frame of an
animation remains.
"""

from __future__ import annotations

import hashlib
import io
import re
from dataclasses import dataclass

import structlog
from PIL import Image, ImageOps
from PIL.JpegImagePlugin import JpegImageFile

from communities.ground.slots import Slots

# SVG is missing, because an SVG file is a document, which may contain scripts and addresses.
FORMATS = ("JPEG", "PNG", "GIF", "WEBP")
MAX_PIXELS = 25_000_000
# A picture takes at most this many bytes in memory while it is read. Measured with Pillow 13: the decoder of
# WebP keeps several copies, one of progressive JPEG all coefficients, and transparent pixels are multiplied.
MAX_MEMORY = 150_000_000
_PLAIN, _TRANSPARENT, _PROGRESSIVE, _CMYK, _WEBP = 6, 10, 7, 12, 20  # bytes of a pixel
# A JPEG has at most this many scans. Cameras and programs write about ten, and each scan decodes all pixels.
MAX_SCANS = 100
MAX_EDGE = 1_600  # In pixels. A page shows at most 608 pixels, and a screen may double them.
_UNREADABLE = "The file is no picture that can be shown. JPEG, PNG, GIF and WebP can."
# The next marker of a JPEG. Within the data of a scan, only 0 and the restart markers follow 0xFF
# (ITU T.81, B.1.1.5).
_MARKER = re.compile(rb"\xff([^\x00\x01\xd0-\xd8\xff])")
_END_OF_IMAGE, _START_OF_SCAN = b"\xd9", b"\xda"
_TYPES = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
# A process encodes one picture at a time, because each picture may take 150 MB and seconds of CPU.
_one_at_a_time = Slots(1)
SECONDS_TO_WAIT = 1.0  # An upload waits this long for other pictures, because it occupies a thread.
BUSY = "Other pictures are being read. Please try again in a moment."

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


def encode(file: bytes, *, max_bytes: int, max_wait: float | None = None) -> EncodedPicture:
    """Encode a picture again, in at most `max_bytes`. Raises NotAPicture, and Unavailable if it waits longer
    than `max_wait` for other pictures (None for SECONDS_TO_WAIT).
    """
    seconds = SECONDS_TO_WAIT if max_wait is None else max_wait
    with _one_at_a_time.held("", timeout=seconds, busy=BUSY, retry_after=5):
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
        is_photo = isinstance(source, JpegImageFile)  # Pillow names a JPEG of several pictures MPO.
        scans = _scans(file) if is_photo else 0
        most = min(MAX_PIXELS, MAX_MEMORY // _bytes_of_a_pixel(source, scans))
        if width * height > most:
            raise NotAPicture(
                f"The picture has {width:,} by {height:,} pixels, which are more than {most:,}"
                f"{'' if most == MAX_PIXELS else ' for such a file. Save it as a plain JPEG, or smaller'}."
            )
        if scans > MAX_SCANS:
            raise NotAPicture("The picture is a JPEG of too many scans. Save it as a plain JPEG.")
        source.thumbnail((MAX_EDGE, MAX_EDGE))  # This decodes a JPEG at a fraction of its size.
        picture = ImageOps.exif_transpose(source)
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


def _scans(photo: bytes) -> int:
    """The number of scans of a JPEG. Pictures inside of its segments, and pictures after it, do not count."""
    scans, position = 0, 2
    while (marker := _MARKER.search(photo, position)) and marker[1] != _END_OF_IMAGE:
        scans += marker[1] == _START_OF_SCAN
        position = marker.end() + int.from_bytes(photo[marker.end() : marker.end() + 2])
    return scans


def _bytes_of_a_pixel(source: Image.Image, scans: int) -> int:
    if source.format == "WEBP":
        return _WEBP
    if scans > 1:  # The decoder then keeps all coefficients, of a progressive JPEG and of any other.
        return _CMYK if source.mode == "CMYK" else _PROGRESSIVE
    if scans:
        return _PLAIN
    return _TRANSPARENT if source.mode in ("RGBA", "LA") else _PLAIN


def _written(picture: Image.Image, kind: str, **options: int) -> bytes:
    """Return a new file with only the pixels, because Pillow would also write other data from the source."""
    bare = Image.new(picture.mode, picture.size)
    bare.paste(picture)
    file = io.BytesIO()
    bare.save(file, kind, **options)
    return file.getvalue()
