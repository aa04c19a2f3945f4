"""Sending files: ranges, ETags, and zips made while they are sent.

The pieces are asynchronous iterators: under ASGI Django would gather a synchronous one in memory first.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

import zipstream
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified, StreamingHttpResponse
from django.utils.http import http_date, parse_etags, quote_etag

from archives.disk import read_archive
from archives.errors import ArchivesError
from archives.opening import open_file
from archives.protocol import PLAN, ArchivePath

CHUNK = 256 << 10
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
SANDBOX_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; media-src data:; "
    "frame-ancestors 'self'"
)
INERT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'; frame-ancestors 'self'"


class Pieces:
    """The bytes `start`..`stop` of an open file, read in another thread; closes the file."""

    def __init__(self, handle: BinaryIO, start: int, stop: int) -> None:
        self.handle, self.start, self.stop = handle, start, stop

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self.stop - self.start
        await asyncio.to_thread(self.handle.seek, self.start)
        while left > 0:
            piece = await asyncio.to_thread(self.handle.read, min(CHUNK, left))
            if not piece:
                return
            left -= len(piece)
            yield piece

    def close(self) -> None:
        self.handle.close()


class ZipPieces:
    """A zip of archived files, made while it is sent: each file is opened when its turn comes.

    A file that went away meanwhile is left out and named in a last entry, `MISSING.txt`.
    """

    def __init__(self, root: Path, files: list[ArchivePath]) -> None:
        self.root, self.files = root, files

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = self.sync()
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            yield piece

    def sync(self) -> Iterator[bytes]:
        """The same bytes for whoever is not in an event loop."""
        made = zipstream.ZipStream(compress_type=zipstream.ZIP_DEFLATED, compress_level=6)
        missing = []
        for path in self.files:
            try:
                with open_file(self.root, path) as handle:
                    made.add(_chunks(handle), path.subpath)
                    yield from made.file()
            except (ArchivesError, OSError) as error:
                missing.append(f"{path}: {error}")
        if missing:
            made.add("\n".join(missing), "MISSING.txt")
        yield from made.finalize()


def _chunks(handle: BinaryIO) -> Iterator[bytes]:
    while chunk := handle.read(CHUNK):
        yield chunk


def list_files(root: Path, archive_id: str, bucket: str = "") -> list[ArchivePath]:
    """What a zip holds, as it is on the disk now: one bucket, or the whole archive with its plan first."""
    snapshot = read_archive(root, archive_id, {}, every=True)
    if snapshot is None:
        return []
    files = [
        ArchivePath(archive_id, name, one.name)
        for name in sorted(snapshot.listed)
        for one in sorted(snapshot.listed[name], key=lambda facts: facts.name)
        if bucket in ("", name)
    ]
    return [ArchivePath(archive_id, "", PLAN), *files] if snapshot.plan and not bucket else files


def send_file(
    request: HttpRequest,
    handle: BinaryIO,
    name: str,
    content_type: str,
    *,
    size: int,
    mtime_ns: int,
    download: bool,
) -> HttpResponse | StreamingHttpResponse:
    """One file with an ETag, one range if asked for, and a policy under which nothing of it runs. Closes `handle`."""
    etag = quote_etag(f"{size:x}-{mtime_ns:x}")
    response: HttpResponse | StreamingHttpResponse
    wanted = request.headers.get("Range", "")
    if _matches(request, etag):
        handle.close()
        response = HttpResponseNotModified()
    elif wanted and request.headers.get("If-Range", etag) == etag and _RANGE.fullmatch(wanted.strip()):
        response = _partial(handle, wanted, size)
    else:
        response = StreamingHttpResponse(Pieces(handle, 0, size))
        response["Content-Length"] = str(size)
    response["ETag"] = etag
    response["Last-Modified"] = http_date(mtime_ns / 1e9)
    response["Accept-Ranges"] = "bytes"
    response["Cache-Control"] = "private, no-cache"
    response["Content-Type"] = content_type
    response["Content-Disposition"] = disposition(name, download=download)
    response["X-Content-Type-Options"] = "nosniff"
    response["X-Frame-Options"] = "SAMEORIGIN"
    response["Content-Security-Policy"] = INERT_POLICY
    return response


def disposition(name: str, *, download: bool) -> str:
    """Content-Disposition with the name in UTF-8, and in ASCII for who cannot read that."""
    plain = re.sub(r'[^\x20-\x7e]|["\\%]', "_", name)
    return f"{'attachment' if download else 'inline'}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _matches(request: HttpRequest, etag: str) -> bool:
    given = parse_etags(request.headers.get("If-None-Match", ""))
    return "*" in given or etag in (one.removeprefix("W/") for one in given)


def _partial(handle: BinaryIO, wanted: str, size: int) -> HttpResponse | StreamingHttpResponse:
    first, last = _RANGE.fullmatch(wanted.strip()).groups()  # type: ignore[union-attr]
    if first:
        start, stop = int(first), min(int(last) + 1, size) if last else size
    else:
        # "bytes=-500": the last 500 bytes.
        start, stop = max(size - int(last), 0) if last and int(last) else size, size
    if start >= size or (first and last and int(last) < int(first)):
        handle.close()
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    response = StreamingHttpResponse(Pieces(handle, start, stop), status=206)
    response["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    response["Content-Length"] = str(stop - start)
    return response
