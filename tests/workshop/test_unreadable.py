"""reports.md row 14, mode 000: what the site's account may not read. Root reads everything, so a real process of another
account looks."""

import os
import shutil
import tempfile
from html import unescape
from pathlib import Path

import pytest

from tests.workshop.processes import Worker, environment

pytestmark = [pytest.mark.slow, pytest.mark.cluster]
NOBODY = 65534
SAYS = "SKILL.md or its folder may not be read by the account this site runs as; let it read them."


def skill(folder: Path, name: str) -> Path:
    file = folder / name / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(f"---\nname: {name}\ndescription: d\n---\n# {name}\n")
    return file


@pytest.fixture(scope="module")
def looker(tmp_path_factory):
    """A process that is not root, and the folder of agent `main`'s skills in its world."""
    # Not below pytest's own folder: that is closed to everybody else.
    top = Path(tempfile.mkdtemp(prefix="openclaw-web-unreadable-"))
    # The first world of a run is the one that later ones are copied from, and this one goes away.
    environment(tmp_path_factory.mktemp("migrated"))
    env = environment(top)
    skills = top / "openclaw/agents/main/agent/workshop-skills"
    skill(skills, "good")
    worker = Worker(env).wait_ready()
    # Python itself may lie where only root can read, so all that pages need is loaded before.
    for page in ("/workshop/skills/main/good/", "/workshop/skills/", "/workshop/curator/"):
        assert worker.ask(page=page)["payload"]["status"] == 200
    worker.must("proposals.list")
    skill(skills, "partly")
    (skills / "partly/references").mkdir()
    (skills / "partly/references/closed.md").write_text("x\n")
    closed = [skill(skills, "closed-file"), skill(skills, "closed-folder").parent]
    way = skill(skills, "no-way-in").parent
    if os.geteuid() == 0:
        for path in (top, *top.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        if worker.ask(become=NOBODY) != {"ok": True, "payload": NOBODY}:
            pytest.skip("this process may not become another account")
    for path in (*closed, skills / "partly/references/closed.md"):
        path.chmod(0)
    way.chmod(0o600)
    yield worker, skills
    worker.close()
    for path in (*closed, way):
        path.chmod(0o700)
    shutil.rmtree(top)


def words(looker, page: str) -> str:
    answer = looker.ask(page=page)["payload"]
    assert answer["status"] == 200
    return unescape(answer["text"])


def test_one_unreadable_file_or_folder_never_breaks_the_list(looker):
    worker, _skills = looker
    listed = worker.must("proposals.list")["installedSkills"]
    assert [item["name"] for item in listed] == ["good", "partly"]


def test_the_page_lists_them_apart_and_says_why(looker):
    text = words(looker[0], "/workshop/skills/")
    assert text.count(SAYS) == 3
    for name in ("closed-file", "closed-folder", "no-way-in"):
        assert f'<span class="name mono">{name}</span>' in text
    assert '<span class="name">good</span>' in text


def test_a_skill_with_one_unreadable_file_opens_and_names_it(looker):
    text = words(looker[0], "/workshop/skills/main/partly/?view=files")
    assert "references/closed.md" in text
    assert words(looker[0], "/workshop/skills/main/partly/").count("# partly") == 0
    assert "curator" in words(looker[0], "/workshop/curator/").lower()


def test_a_folder_of_skills_that_cannot_be_read_is_an_error_and_not_an_empty_list(looker):
    worker, skills = looker
    skills.chmod(0)
    try:
        refused = worker.rpc("proposals.list")
        assert not refused["ok"]
        assert str(skills) in words(worker, "/workshop/skills/")
    finally:
        skills.chmod(0o755)
