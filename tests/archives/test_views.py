"""The archive pages as people get them."""

import re

import pytest
from django.urls import reverse

from archives import links
from archives.indexer import scan_workspace
from archives.links import ArchiveLink
from gateway.models import AuditEntry
from tests.archives.conftest import TS
from tests.archives.test_cards import block

NEXT = "2026-04-16-14-30-06"
pytestmark = pytest.mark.django_db


def page(client, url: str, status: int = 200, **headers) -> str:
    response = client.get(url, **headers)
    assert response.status_code == status, response.content.decode()[:2000]
    return response.content.decode()


def listed(html: str) -> list[str]:
    return re.findall(r'<span class="name mono">([^<]+)</span>', html)


@pytest.fixture
def three(workspace, put):
    put(f"archives/old/{TS}/a.md")
    put("archives/old/PLAN.md", "# plan")
    put("archives/local-0416-1430/2026-04-17-10-00-00/data.json", "{}")
    put("archives/new/2026-04-18-10-00-00/竞品快报.md")
    scan_workspace(workspace)


def test_the_list_shows_archives_newest_first(viewer, three):
    assert listed(page(viewer, "/archives/")) == ["new", "local-0416-1430", "old"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("day=2026-04-17", ["local-0416-1430"]),
        ("kind=json", ["local-0416-1430"]),
        ("kind=markdown", ["new", "old"]),
        ("plan=yes", ["old"]),
        ("plan=no", ["new", "local-0416-1430"]),
        ("fallback=yes", ["local-0416-1430"]),
        ("fallback=no", ["new", "old"]),
        ("kind=markdown&plan=no", ["new"]),
        ("day=nonsense&kind=nonsense", ["new", "local-0416-1430", "old"]),
        ("agent=ops", ["new", "local-0416-1430", "old"]),
    ],
)
def test_the_list_is_narrowed_by_each_filter(viewer, three, query, expected):
    assert listed(page(viewer, f"/archives/?{query}")) == expected


def test_the_list_is_narrowed_to_one_agent(viewer, three, tmp_path, put, know):
    other = know("main", tmp_path / "other")
    put(f"archives/mine/{TS}/a.md", root=other.path)
    assert "mine" in listed(page(viewer, "/archives/"))
    assert listed(page(viewer, reverse("archives:archives") + "?agent=main")) == ["mine"]


def test_a_search_shows_the_files_that_match(viewer, three):
    html = page(viewer, "/archives/?q=快报")
    assert "竞品快报.md" in html and "data.json" not in html
    assert "No file has such a name" in page(viewer, "/archives/?q=absent")


def test_htmx_gets_the_list_alone(viewer, three):
    html = page(viewer, "/archives/?plan=yes", headers={"HX-Request": "true", "HX-Target": "archive-list"})
    assert listed(html) == ["old"] and "<html" not in html


def test_a_new_archive_appears_on_the_list_without_a_scan(viewer, three, put):
    put("archives/fresh/2026-05-01-00-00-00/a.md")
    assert listed(page(viewer, "/archives/"))[0] == "fresh"


def test_an_empty_list_says_where_it_looked(viewer, workspace):
    assert f"{workspace.root}/archives" in page(viewer, "/archives/")


def test_pages_are_read_by_key(viewer, workspace, put):
    for number in range(45):
        put(f"archives/a{number:02d}/2026-04-16-14-30-{number:02d}/x.md")
    html = page(viewer, "/archives/")
    assert (listed(html)[0], len(listed(html))) == ("a44", 40)
    older = re.search(r'href="\?(before=[^"]+)"', html)[1]
    assert listed(page(viewer, f"/archives/?{older}")) == ["a04", "a03", "a02", "a01", "a00"]


def test_an_archive_shows_its_buckets_newest_first_and_never_the_plan_among_them(viewer, workspace, put):
    put("archives/main/PLAN.md", "# plan")
    put(f"archives/main/{TS}/a.md")
    put(f"archives/main/{NEXT}/b.md")
    html = page(viewer, "/archives/ops/main/")
    assert re.findall(r'<span class="name">([^<]+)</span>', html) == ["b.md", "a.md"]
    assert reverse("archives:plan", args=["ops", "main"]) in html


def test_a_file_written_by_an_agent_is_on_the_open_archives_next_load(viewer, workspace, put):
    put(f"archives/main/{TS}/a.md")
    page(viewer, "/archives/ops/main/")
    put(f"archives/main/{TS}/b.md")
    (workspace.path / f"archives/main/{TS}/a.md").unlink()
    html = page(viewer, "/archives/ops/main/")
    assert re.findall(r'<span class="name">([^<]+)</span>', html) == ["b.md"]


def test_an_open_archive_is_told_of_new_outputs_and_left_alone_otherwise(viewer, workspace, put):
    put(f"archives/main/{TS}/a.md")
    html = page(viewer, "/archives/ops/main/")
    asked = re.search(r'hx-get="([^"]+/news/[^"]+)"', html)[1].replace("&amp;", "&")
    assert viewer.get(asked).status_code == 204
    put(f"archives/main/{NEXT}/b.md")
    assert "New outputs have arrived." in page(viewer, asked)


def test_a_long_bucket_is_cut_and_leads_to_its_own_page(viewer, workspace, put):
    for number in range(30):
        put(f"archives/main/{TS}/{number:03d}.md")
    html = page(viewer, "/archives/ops/main/")
    assert html.count('<details class="file"') == 24 and "6 more files" in html
    assert page(viewer, f"/archives/ops/main/bucket/{TS}/").count('<details class="file"') == 30


def test_a_bucket_page_goes_on_by_name(viewer, workspace, put):
    for number in range(130):
        put(f"archives/main/{TS}/{number:03d}.md")
    html = page(viewer, f"/archives/ops/main/bucket/{TS}/")
    assert 'href="?after=119.md"' in html
    assert page(viewer, f"/archives/ops/main/bucket/{TS}/?after=119.md").count('<details class="file"') == 10


def test_the_plan_has_its_own_tab_with_earlier_texts(viewer, workspace, put):
    put("archives/main/PLAN.md", "# first text")
    scan_workspace(workspace)
    put("archives/main/PLAN.md", "# second, longer text")
    html = page(viewer, "/archives/ops/main/plan/")
    assert "<h1>second, longer text</h1>" in html
    earlier = page(viewer, "/archives/ops/main/plan/1/")
    assert "<h1>first text</h1>" in earlier and "This is earlier text 1" in earlier
    page(viewer, "/archives/ops/main/plan/9/", 404)


def test_a_block_in_a_plan_is_a_card_there_too(viewer, workspace, put):
    put(f"archives/main/{TS}/报告.md", "x")
    put("archives/main/PLAN.md", f"# Plan\n\n{block()}\n\nafter")
    html = page(viewer, "/archives/ops/main/plan/")
    assert '<span class="name">报告.md</span>' in html
    assert '<div class="prose" hx-disable>\n<p>after</p>' in html


def test_a_plan_that_is_a_link_is_not_shown_as_read(viewer, workspace, put, tmp_path):
    put(f"archives/main/{TS}/a.md")
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    (workspace.path / "archives/main/PLAN.md").symlink_to(secret)
    html = page(viewer, "/archives/ops/main/plan/")
    assert "SECRET" not in html and "only regular files are read" in html


def test_an_archive_shows_what_it_belongs_to(viewer, workspace, put, monkeypatch):
    put(f"archives/main/{TS}/a.md")
    provider = lambda agent, archive: [ArchiveLink("session", f"session of {agent}/{archive}", "/x/")]  # noqa: E731
    monkeypatch.setattr(links, "_providers", [provider])
    assert "session of ops/main" in page(viewer, "/archives/ops/main/")
    put(f"archives/local-0416-1430/{TS}/a.md")
    assert "session of" not in page(viewer, "/archives/ops/local-0416-1430/")


def test_the_list_calls_an_archive_as_people_do_where_an_app_knows_it(viewer, workspace, put, monkeypatch):
    put(f"archives/main/{TS}/a.md")
    put(f"archives/other/{TS}/a.md")
    monkeypatch.setattr(links, "_namers", [lambda places: {("ops", "main"): "每日 <快报>"}])
    html = page(viewer, "/archives/")
    assert html.count('<span class="known-as">') == 1
    assert '<span class="known-as">每日 &lt;快报&gt;</span>' in html


@pytest.mark.parametrize(
    "url",
    [
        "/archives/nobody/main/",
        "/archives/ops/absent/",
        "/archives/ops/..%2f..%2fetc/",
        "/archives/ops/.git/",
        "/archives/ops/main/bucket/nonsense/",
        "/archives/-/lint/nobody/",
        "/archives/a%00b/main/",
        "/archives/ops/a%00b/",
        "/archives/ops/main/bucket/%00/",
        "/archives/ops/a%00b/zip/",
    ],
)
def test_what_does_not_exist_is_a_404(viewer, workspace, put, url):
    put(f"archives/main/{TS}/a.md")
    page(viewer, url, 404)


def test_lint_lists_findings_and_a_reviewer_copies_one(reviewer, workspace, put):
    put(f"arch/main/{TS}/a.md", "kept")
    html = page(reviewer, "/archives/-/lint/ops/")
    assert f"arch/main/{TS}/a.md" in html and "Copy to the right place" in html
    response = reviewer.post("/archives/-/lint/ops/copy/", {"path": f"arch/main/{TS}/a.md"}, follow=True)
    assert f"Copied and read back: archives/main/{TS}/a.md" in response.content.decode()
    assert (workspace.path / f"archives/main/{TS}/a.md").read_text() == "kept"
    assert (workspace.path / f"arch/main/{TS}/a.md").exists()


def test_a_copy_that_cannot_be_made_is_said_beside_its_finding(reviewer, workspace, put):
    put("archives/a.md")
    response = reviewer.post("/archives/-/lint/ops/copy/", {"path": "archives/a.md"})
    assert response.status_code == 422
    assert "has to be moved by hand" in response.content.decode()


def test_a_viewer_is_offered_no_copy_and_may_make_none(viewer, workspace, put):
    put(f"arch/main/{TS}/a.md")
    assert "Copy to the right place" not in page(viewer, "/archives/-/lint/ops/")
    assert viewer.post("/archives/-/lint/ops/copy/", {"path": f"arch/main/{TS}/a.md"}).status_code == 403
    assert not (workspace.path / "archives").exists()
    assert AuditEntry.objects.get().outcome == "refused"


def test_the_checks_tab_shows_only_this_archives_findings(viewer, workspace, put):
    put(f"archives/main/{TS}/fine.md")
    put("archives/main/stray.md")
    put("archives/other/stray.md")
    put(f"arch/main/{TS}/a.md")
    put(f"arch/other/{TS}/a.md")
    html = page(viewer, "/archives/ops/main/checks/")
    assert "archives/main/stray.md" in html and "archives/other/stray.md" not in html
    assert f"arch/main/{TS}/a.md" in html and f"arch/other/{TS}/a.md" not in html


def test_hostile_names_are_inert_everywhere(viewer, workspace, put):
    name = "<img src=x onerror=alert(1)>.md"
    put(f"archives/<b>x/{TS}/{name}", "<script>alert(1)</script>")
    put(f"arch/<b>x/{TS}/{name}")
    urls = ["/archives/", "/archives/?q=img", "/archives/-/lint/ops/", reverse("archives:archive", args=["ops", "<b>x"]),
            reverse("archives:file", args=["ops", "<b>x", f"{TS}/{name}"])]  # fmt: skip
    for url in urls:
        html = page(viewer, url)
        assert "<img src=x" not in html and "<b>x" not in html and "<script>alert" not in html


def test_a_workspace_that_cannot_be_read_is_said_on_the_list(viewer, know):
    scan_workspace(know("ops", "/nonexistent/workspace"))
    assert "cannot be read" in page(viewer, "/archives/")
