import hashlib
import json
import os
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from agents.models import MadeAgent
from agents.services import make_agent

SOUL = "# Calm\n\n<script>x()</script> *yes*"
TWO = '{agents: {entries: {main: {}, ops: {name: "运维 <b>"}}}}'


@pytest.fixture
def two(write_config, state_dir):
    write_config(TWO)
    for folder in ("workspace-main", "workspace-ops"):
        (state_dir / folder).mkdir()
    (state_dir / "workspace-main" / "SOUL.md").write_text(SOUL)
    return state_dir


def page(client, url):
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_stranger_is_sent_to_sign_in(client, db, two):
    for url in ("/agents/", "/agents/main/", "/agents/main/files/SOUL.md", "/agents/-/new/"):
        answer = client.get(url)
        assert (answer.status_code, answer.url.split("?")[0]) == (302, reverse("signin"))


def test_the_roster_names_every_agent_with_its_folder_and_files(viewer, two):
    html = page(viewer, "/agents/")
    assert "运维 &lt;b&gt;" in html
    assert "<b>运维" not in html
    assert str(two / "workspace-ops") in html
    assert "1 of 8 there" in html
    assert "0 of 8 there" in html
    assert "2 agents." in html


def test_an_empty_state_dir_says_where_it_looked_and_what_to_do(viewer, state_dir):
    html = page(viewer, "/agents/")
    assert "No agents yet" in html
    assert f"{state_dir}/openclaw.json" in html
    assert "/agents/-/new/" not in html


def test_an_administrator_is_offered_to_make_one(administrator, state_dir):
    assert "/agents/-/new/" in page(administrator, "/agents/")


def test_a_long_roster_is_read_page_by_page(viewer, write_config):
    write_config("{agents: {entries: {" + ", ".join(f"a{number}: {{}}" for number in range(60)) + "}}}")
    pages, url = [], "/agents/"
    while url:
        html = page(viewer, url)
        pages.append([int(number) for number in re.findall(r'href="/agents/a(\d+)/" data-row', html)])
        found = re.search(r'rel="next" href="([^"]+)"', html)
        url = f"/agents/{found[1]}" if found else ""
    assert [len(numbers) for numbers in pages] == [24, 24, 12]
    assert [number for numbers in pages for number in numbers] == list(range(60))
    assert "60 agents." in html
    assert page(viewer, "/agents/?after=gone").count("data-row") == 24


def test_a_broken_file_is_shown_with_its_place_and_the_last_good_roster(viewer, two, write_config):
    page(viewer, "/agents/")
    write_config(
        '{\n  gateway: {auth: {token: "sk-very-secret"}},\n  agents: {entries: {main: {} ops: {}}}\n}'
    )
    html = page(viewer, "/agents/")
    assert "openclaw.json cannot be read" in html
    assert "Line 3, column 31." in html
    assert "A comma or a closing bracket is expected here, not “o”." in html
    assert "Shown is the last good roster" in html
    assert "sk-very-secret" not in html
    assert "/agents/ops/" in html
    assert "last good roster" in page(viewer, "/agents/ops/")


def test_a_file_broken_from_the_start_has_no_roster_and_no_invitation(viewer, write_config):
    write_config("{")
    html = page(viewer, "/agents/")
    assert "No roster could be read from it yet" in html
    assert "No agents yet" not in html


def test_odd_entries_are_told(viewer, write_config):
    write_config('{agents: {entries: {"My Agent": {}, "运维": {}}}}')
    html = page(viewer, "/agents/")
    assert "“My Agent” is shown under its normal id" in html
    assert "“运维” is left out" in html


def test_an_agents_page_lists_its_files_and_where_it_lives(viewer, two):
    html = page(viewer, "/agents/main/")
    assert "/agents/main/files/SOUL.md" in html
    assert "/agents/main/files/USER.md" not in html
    assert str(two / "agents/main/agent") in html
    assert "/archives/?agent=main" in html


def test_a_workspace_that_is_not_there_says_so(viewer, write_config):
    write_config(
        '{agents: {entries: {a: {workspace: "/nowhere/$UNSET_NAME"}, b: {workspace: "/nowhere/b"}}}}'
    )
    assert "The path names $UNSET_NAME, which is not set here." in page(viewer, "/agents/a/")
    assert "The folder does not exist yet." in page(viewer, "/agents/b/")


def test_a_file_is_rendered_without_its_scripts(viewer, two):
    html = page(viewer, "/agents/main/files/SOUL.md")
    assert "<em>yes</em>" in html
    assert "<script>x()" not in html
    assert "This is the agent&#x27;s soul." in html
    assert hashlib.sha256(SOUL.encode()).hexdigest() in html
    assert "34 B" in html


def test_a_file_that_names_an_archived_file_shows_its_card(viewer, two):
    data = {"type": "file", "archive_root": "archives/gone", "subpath": "PLAN.md", "name": "PLAN.md"}
    text = f"# Memory\n\n```json\n{json.dumps({'type': 'archive_grid', 'data': data})}\n```\n"
    (two / "workspace-main" / "MEMORY.md").write_text(text)
    html = page(viewer, "/agents/main/files/MEMORY.md")
    assert '<div class="card gone">' in html and "archive_grid" not in html


def test_a_file_is_shown_raw_letter_by_letter(viewer, two):
    html = page(viewer, "/agents/main/files/SOUL.md?view=raw")
    assert "# Calm\n\n&lt;script&gt;x()&lt;/script&gt; *yes*" in html


def test_only_the_region_comes_back_to_htmx(viewer, two):
    answer = viewer.get(
        "/agents/main/files/SOUL.md?view=raw", headers={"HX-Request": "true", "HX-Target": "file"}
    )
    html = answer.content.decode()
    assert html.strip().startswith("<article")
    assert "<html" not in html


def test_what_was_not_read_is_never_shown_as_read(viewer, two, tmp_path):
    (tmp_path / "secret").write_text("TOKEN-1234")
    (two / "workspace-main" / "USER.md").symlink_to(tmp_path / "secret")
    os.link(tmp_path / "secret", two / "workspace-main" / "MEMORY.md")
    os.mkfifo(two / "workspace-main" / "AGENTS.md")
    for name, why in (
        ("USER.md", "Links in a workspace are not followed."),
        ("MEMORY.md", "It has a second name elsewhere"),
        ("AGENTS.md", "It is no regular file"),
    ):
        html = page(viewer, f"/agents/main/files/{name}")
        assert f"{name} was not read" in html
        assert why in html
        assert "TOKEN-1234" not in html
        assert "SHA-256" not in html
        assert ">Read<" not in html
    assert "TOKEN-1234" not in page(viewer, "/agents/main/")


def test_bytes_that_are_not_utf8_are_pointed_at(viewer, two):
    (two / "workspace-main" / "USER.md").write_bytes(b"caf\xe9")
    html = page(viewer, "/agents/main/files/USER.md")
    assert "the first bad byte is number 3" in html


def test_a_retired_file_says_which_openclaw_reads_it(viewer, two):
    (two / "workspace-main" / "TOOLS.md").write_text("hosts")
    assert "OpenClaw 2026.1 reads this file. 2026.9 no longer does" in page(
        viewer, "/agents/main/files/TOOLS.md"
    )


@pytest.mark.parametrize(
    "url",
    [
        "/agents/nobody/",
        "/agents/main/files/.env",
        "/agents/main/files/NOTES.md",
        "/agents/main/files/..%2FSOUL.md",
        "/agents/main/files/soul.md",
        "/agents/nobody/files/SOUL.md",
    ],
)
def test_what_is_not_on_the_list_is_not_found(viewer, two, url):
    (two / "workspace-main" / ".env").write_text("KEY=1")
    assert viewer.get(url).status_code == 404


def test_fifty_agents_ask_as_many_queries_as_two(viewer, two, write_config):
    page(viewer, "/agents/")
    with CaptureQueriesContext(connection) as few:
        page(viewer, "/agents/")
    write_config(json.dumps({"agents": {"entries": {f"a{n}": {} for n in range(50)}}}))
    page(viewer, "/agents/")
    with CaptureQueriesContext(connection) as many:
        page(viewer, "/agents/")
    assert len(many) == len(few)


def test_an_administrator_makes_changes_and_removes_an_agent(administrator, state_dir):
    typed = {"agent_id": "helper", "name": "Helper 助手", "workspace": "", "description": "helps"}
    answer = administrator.post("/agents/-/new/", typed)
    assert (answer.status_code, answer.url) == (302, "/agents/helper/")
    html = page(administrator, "/agents/helper/")
    assert "Helper 助手" in html
    assert "/agents/helper/change/" in html
    changed = {"name": "Other", "workspace": str(state_dir / "elsewhere"), "description": ""}
    assert administrator.post("/agents/helper/change/", changed).status_code == 302
    assert MadeAgent.objects.get().name == "Other"
    assert "Take off the roster" in page(administrator, "/agents/helper/change/")
    assert administrator.post("/agents/helper/remove/").url == "/agents/"
    assert not MadeAgent.objects.exists()


def test_a_refused_form_keeps_what_was_typed_beside_the_reason(administrator, state_dir):
    answer = administrator.post(
        "/agents/-/new/",
        {"agent_id": "Bad Id", "name": "Kept 名", "workspace": "relative", "description": ""},
    )
    html = answer.content.decode()
    assert answer.status_code == 422
    assert "Kept 名" in html
    assert "An id is 1–64 characters" in html


@pytest.mark.parametrize("who", ["viewer", "reviewer"])
def test_nobody_else_changes_the_roster(request, who, state_dir, shell):
    client = request.getfixturevalue(who)
    make_agent(shell, agent_id="a")
    for url in ("/agents/-/new/", "/agents/a/change/", "/agents/a/remove/"):
        assert client.post(url, {"agent_id": "b", "name": "n"}).status_code == 403
    assert list(MadeAgent.objects.values_list("agent_id", "name")) == [("a", "a")]


def test_the_pages_speak_chinese(viewer, two):
    viewer.cookies["django_language"] = "zh-hans"
    html = page(viewer, "/agents/")
    assert '<html lang="zh-hans"' in html
    assert "2 个代理。" in html
    assert "8 个中有 1 个" in html
