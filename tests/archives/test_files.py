"""One file: its page, preview, bytes, ranges and zips."""

import asyncio
import io
import os
import zipfile

import pytest
from django.urls import reverse

from archives.protocol import ArchivePath
from archives.streams import ZipPieces, disposition
from tests.archives.conftest import TS
from tests.archives.test_cards import block

pytestmark = pytest.mark.django_db
DATA = bytes(range(256)) * 4


def url(view: str, name: str) -> str:
    return reverse(f"archives:{view}", args=["ops", "main", f"{TS}/{name}"])


def body(response) -> bytes:
    async def gather() -> bytes:
        return b"".join([piece async for piece in response.streaming_content])

    return asyncio.run(gather()) if response.streaming else response.content


@pytest.fixture
def file(put):
    put(f"archives/main/{TS}/数据 1.bin", DATA)
    return "数据 1.bin"


def test_a_download_is_the_file_with_its_name(viewer, file):
    response = viewer.get(url("download", file))
    assert body(response) == DATA
    assert response["Content-Length"] == "1024"
    assert (
        response["Content-Disposition"]
        == "attachment; filename=\"__ 1.bin\"; filename*=UTF-8''%E6%95%B0%E6%8D%AE%201.bin"
    )
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [
        ("bytes=0-99", 0, 100),
        ("bytes=1000-", 1000, 1024),
        ("bytes=-24", 1000, 1024),
        ("bytes=1000-5000", 1000, 1024),
        ("bytes=-5000", 0, 1024),
        ("bytes=7-7", 7, 8),
    ],
)
def test_a_range_is_sent_alone(viewer, file, asked, start, stop):
    response = viewer.get(url("download", file), headers={"Range": asked})
    assert response.status_code == 206
    assert body(response) == DATA[start:stop]
    assert response["Content-Range"] == f"bytes {start}-{stop - 1}/1024"


@pytest.mark.parametrize("asked", ["bytes=1024-", "bytes=9-3", "bytes=-0"])
def test_a_range_that_cannot_be_satisfied_is_416(viewer, file, asked):
    response = viewer.get(url("download", file), headers={"Range": asked})
    assert (response.status_code, response["Content-Range"]) == (416, "bytes */1024")


@pytest.mark.parametrize("asked", ["bytes=0-1,5-6", "lines=1-2", "bytes=x", "bytes=0-" + "9" * 5000])
def test_other_ranges_get_the_whole_file(viewer, file, asked):
    response = viewer.get(url("download", file), headers={"Range": asked})
    assert (response.status_code, body(response)) == (200, DATA)


def test_a_known_file_is_not_sent_again(viewer, file):
    etag = viewer.get(url("download", file))["ETag"]
    for given in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        assert viewer.get(url("download", file), headers={"If-None-Match": given}).status_code == 304
    assert viewer.get(url("download", file), headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_range_of_a_file_that_changed_gets_the_whole_file(viewer, file, put):
    etag = viewer.get(url("download", file))["ETag"]
    put(f"archives/main/{TS}/{file}", b"new content")
    response = viewer.get(url("download", file), headers={"Range": "bytes=0-1", "If-Range": etag})
    assert (response.status_code, body(response)) == (200, b"new content")


@pytest.mark.parametrize(
    "subpath",
    [
        "../../.env",
        f"{TS}/../../../.env",
        f"{TS}/absent.md",
        "a.md",
        f"{TS}/PLAN.md",
        "x/y/z",
        "%00",
        f"{TS}/sub/a.md",
    ],
)
@pytest.mark.parametrize("view", ["file", "preview", "raw", "sandbox", "download"])
def test_no_address_leads_outside_the_tracks(viewer, workspace, put, view, subpath):
    put(".env", "SECRET")
    put(f"archives/main/{TS}/here.md")
    response = viewer.get(f"/archives/ops/main/{view}/{subpath}")
    assert response.status_code == 404
    assert b"SECRET" not in response.content


def test_links_pipes_and_devices_are_not_served(viewer, workspace, put):
    put(f"archives/main/{TS}/here.md")
    folder = workspace.path / "archives/main" / TS
    (folder / "link.md").symlink_to("/etc/passwd")
    (folder / "proc.md").symlink_to("/proc/self/environ")
    os.mkfifo(folder / "pipe.md")
    for name in ("link.md", "proc.md", "pipe.md"):
        for view in ("file", "preview", "raw", "download"):
            assert viewer.get(url(view, name)).status_code == 404


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.png", "image/png"),
        ("a.pdf", "application/pdf"),
        ("a.mp3", "audio/mpeg"),
        ("a.mp4", "video/mp4"),
        ("a.md", "text/plain; charset=utf-8"),
        ("a.js", "text/plain; charset=utf-8"),
    ],
)
def test_raw_bytes_have_a_type_under_which_nothing_runs(viewer, put, name, expected):
    put(f"archives/main/{TS}/{name}")
    response = viewer.get(url("raw", name))
    assert response["Content-Type"] == expected
    assert response["Content-Security-Policy"].startswith("default-src 'none'")
    assert response["Content-Disposition"].startswith("inline")


@pytest.mark.parametrize("name", ["a.html", "a.svg", "a.exe", "a.xhtml", "noending"])
def test_what_could_run_is_never_sent_raw(viewer, put, name):
    put(f"archives/main/{TS}/{name}", "<script>alert(1)</script>")
    response = viewer.get(url("raw", name))
    assert response.status_code == 302 and "/download/" in response["Location"]


@pytest.mark.parametrize(
    ("name", "kind"), [("a.html", "text/html; charset=utf-8"), ("a.svg", "image/svg+xml")]
)
def test_html_and_svg_come_sandboxed_by_their_own_policy(viewer, put, name, kind):
    put(f"archives/main/{TS}/{name}", "<script>alert(1)</script>")
    response = viewer.get(url("sandbox", name))
    policy = response["Content-Security-Policy"]
    assert response["Content-Type"] == kind
    assert (
        policy.startswith("sandbox; default-src 'none'")
        and "script-src" not in policy
        and "allow-" not in policy
    )
    assert 'sandbox src="' in viewer.get(url("preview", name)).content.decode()


def test_the_sandbox_serves_nothing_else(viewer, put):
    put(f"archives/main/{TS}/a.md")
    assert viewer.get(url("sandbox", "a.md")).status_code == 302


def test_a_files_page_has_its_neighbours(viewer, workspace, put):
    for name in ("a.md", "b.md", "c.md"):
        put(f"archives/main/{TS}/{name}", f"# {name}")
    viewer.get("/archives/ops/main/")
    html = viewer.get(url("file", "b.md")).content.decode()
    assert "<h1>b.md</h1>" in html
    assert url("file", "a.md") in html and url("file", "c.md") in html


def test_the_plans_page_is_its_tab(viewer, put):
    put("archives/main/PLAN.md", "# plan")
    response = viewer.get("/archives/ops/main/file/PLAN.md")
    assert response["Location"] == "/archives/ops/main/plan/"


def test_a_long_text_comes_piece_by_piece(viewer, put):
    put(f"archives/main/{TS}/run.log", "".join(f"line {number}\n" for number in range(40_000)))
    html = viewer.get(url("preview", "run.log")).content.decode()
    assert html.count("<li>") < 20_000 and "<li>line 0</li>" in html
    following = html.split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
    piece = viewer.get(following).content.decode()
    line = int(following.rsplit("=")[-1])
    assert f'<ol class="code" start="{line}"><li>line {line - 1}</li>' in piece
    assert "preview-bar" not in piece
    # Without JavaScript the same link leads to a whole page with that piece.
    assert (
        f"<li>line {line - 1}</li>" in viewer.get(following.replace("/preview/", "/file/")).content.decode()
    )


@pytest.mark.parametrize(
    "query", ["from=99999999", "from=-1", "from=x&line=y", "from=" + "9" * 400, "line=" + "9" * 30]
)
def test_nonsensical_positions_show_the_beginning(viewer, put, query):
    put(f"archives/main/{TS}/a.txt", "hello")
    assert "<li>hello</li>" in viewer.get(url("file", "a.txt") + "?" + query).content.decode()


def unzip(response) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(body(response))) as made:
        assert made.testzip() is None
        return {name: made.read(name) for name in made.namelist()}


def test_a_whole_archive_comes_as_a_zip_with_its_plan(viewer, put):
    put("archives/main/PLAN.md", "plan")
    put(f"archives/main/{TS}/报告.md", "report")
    put("archives/main/stray.md", "off the tracks")
    response = viewer.get("/archives/ops/main/zip/")
    assert response["Content-Disposition"].startswith('attachment; filename="main.zip"')
    assert unzip(response) == {"PLAN.md": b"plan", f"{TS}/报告.md": b"report"}


def test_one_bucket_comes_as_a_zip(viewer, put):
    put("archives/main/PLAN.md", "plan")
    put(f"archives/main/{TS}/a.md", "a")
    put("archives/main/2026-04-17-00-00-00/b.md", "b")
    assert unzip(viewer.get(f"/archives/ops/main/zip/{TS}/")) == {f"{TS}/a.md": b"a"}


@pytest.mark.parametrize(
    "address",
    [
        "/archives/ops/absent/zip/",
        "/archives/ops/main/zip/nonsense/",
        "/archives/ops/main/zip/2020-01-01-00-00-00/",
    ],
)
def test_there_is_no_zip_of_nothing(viewer, workspace, put, address):
    put(f"archives/main/{TS}/a.md")
    assert viewer.get(address).status_code == 404


def test_a_file_that_goes_while_the_zip_is_made_is_named_in_it(workspace, put):
    put(f"archives/main/{TS}/a.md", "a")
    pieces = ZipPieces(workspace.path, [ArchivePath("main", TS, "gone.md"), ArchivePath("main", TS, "a.md")])
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces.sync()))) as made:
        assert made.namelist() == [f"{TS}/a.md", "MISSING.txt"]
        assert f"archives/main/{TS}/gone.md" in made.read("MISSING.txt").decode()


def test_a_name_cannot_break_out_of_its_header():
    header = disposition('a"; filename="evil.exe', download=True)
    assert header.split("; filename*")[0] == 'attachment; filename="a_; filename=_evil.exe"'


def test_a_preview_of_an_agents_text_has_its_cards_and_the_images_beside_it(viewer, put):
    put(f"archives/main/{TS}/trend.png", b"\x89PNG")
    put(f"archives/main/{TS}/r.md", f"![走势](trend.png)\n\n{block('trend.png')}\n".encode())
    for view in ("preview", "file"):
        html = viewer.get(url(view, "r.md")).content.decode()
        assert html.count(f'src="/archives/ops/main/raw/{TS}/trend.png"') == 1
        assert '<ul class="grid files"' in html and "archive_grid" not in html
