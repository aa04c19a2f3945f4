"""The review desk in a real browser: by keyboard alone, with a conflict, without script, on a phone, with axe."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse

from gateway.models import Delivery
from tests.browser import faults, overflows, shoot
from tests.workshop.conftest import two_agents  # noqa: F401 - a fixture
from tests.workshop.desk_world import TRIP, live_skill, propose, skill_file, update
from workshop.models import Comment, Proposal
from workshop.services.comments import add_comment
from workshop.services.decisions import quarantine_proposal, reject_proposal
from workshop.services.revisions import revise_proposal

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def url(proposal, tab=""):
    return (
        reverse("workshop:tab", args=[proposal.pk, tab])
        if tab
        else reverse("workshop:proposal", args=[proposal.pk])
    )


def opened(page, proposal) -> None:
    """Waits until the desk shows this proposal."""
    page.wait_for_url(f"**{url(proposal)}**")
    page.wait_for_selector(f'#object [id="object-title"]:has-text("{proposal.skill_name}")')


def status(proposal) -> tuple[str, str]:
    proposal.refresh_from_db()
    return proposal.status, proposal.status_reason


def test_a_curator_handles_twenty_proposals_by_keyboard_alone(two_agents, desk, person):  # noqa: F811
    made = [propose(person, name=f"skill {number:02}") for number in range(20)]
    page = desk("reviewer")
    page.goto(reverse("workshop:desk"))
    press = page.keyboard.press
    for number, proposal in enumerate(made):
        page.wait_for_selector(f'#object-title:has-text("skill {number:02}")')
        if number:
            opened(page, proposal)
            # The focus is on the item that opened, so the way on is one key.
            page.wait_for_function(
                "href => document.activeElement.getAttribute('href') === href", arg=url(proposal)
            )
        if number % 4 == 0:
            for key, tab in (("d", "diff"), ("f", "files"), ("c", "checks"), ("h", "history"), ("t", "text")):
                press(key)
                page.wait_for_selector(f'#tab-{tab}[aria-current="page"]')
            press("a")
        elif number % 4 == 1:
            press("x")
            page.keyboard.type(f"No use {number}, and a q or an x in the words does nothing")
            press("Enter")
        elif number % 4 == 2:
            press("q")
            page.keyboard.type("Dangerous")
            press("Enter")
        else:
            press("r")
            page.keyboard.type("Please be shorter.")
            press("Control+Enter")
    page.wait_for_selector("#messages .note")
    page.wait_for_selector('#object-title:has-text("skill 03")')
    assert [status(item)[0] for item in made] == ["applied", "rejected", "quarantined", "pending"] * 5
    assert made[1].status_reason == "No use 1, and a q or an x in the words does nothing"
    assert Delivery.objects.count() == 5
    assert skill_file(two_agents, "skill-16").read_text().endswith(TRIP)


def test_the_queue_is_walked_and_opened_by_keys(two_agents, desk, person):  # noqa: F811
    made = [propose(person, name=f"skill {number}") for number in range(3)]
    page = desk("reviewer")
    page.goto(reverse("workshop:desk"))
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    opened(page, made[1])
    assert page.title().startswith("skill 1 ·")
    page.go_back()
    page.wait_for_selector('#object-title:has-text("skill 0")')
    page.keyboard.press("?")
    text = page.inner_text("#keys")
    for word in ("Apply", "Request changes", "Reject", "Quarantine", "Edit", "History"):
        assert word in text
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    page.wait_for_selector("#ask-reject:popover-open")
    page.keyboard.press("Escape")
    page.wait_for_selector("#ask-reject", state="hidden")
    assert status(made[0])[0] == "pending"


IN_SIGHT = """() => {
    const queue = document.querySelector(".queue").getBoundingClientRect();
    const row = document.querySelector(".queue [aria-current]").getBoundingClientRect();
    return row.top >= queue.top && row.bottom <= Math.min(queue.bottom, innerHeight) + 1;
}"""


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_the_queue_keeps_its_place_and_the_open_one_in_sight(two_agents, desk, person, phone):  # noqa: F811
    made = [propose(person, name=f"skill {number:02}") for number in range(20)]
    page = desk("reviewer", phone=phone)
    page.goto(url(made[14]))
    page.wait_for_function(IN_SIGHT)
    row = page.locator(f'.queue a[href="{url(made[15])}"]')
    row.scroll_into_view_if_needed()
    before = page.evaluate("document.querySelector('.queue').scrollTop")
    row.click()
    opened(page, made[15])
    page.wait_for_function(IN_SIGHT)
    # Nothing moves under the pointer.
    assert page.evaluate("document.querySelector('.queue').scrollTop") == before
    page.click("#tab-history")
    page.wait_for_selector('#tab-history[aria-current="page"]')
    assert page.evaluate("document.querySelector('.queue').scrollTop") == before
    page.keyboard.press("a")
    opened(page, made[16])
    page.wait_for_function(IN_SIGHT)


def test_the_rail_counts_down_with_the_queue(two_agents, desk, person):  # noqa: F811
    made = [propose(person, name=f"skill {number}") for number in range(3)]
    page = desk("reviewer")
    page.goto(url(made[0]))
    count = '.rail a[href="/workshop/"] .count'
    assert page.inner_text(count).split()[0] == "3"
    page.keyboard.press("a")
    opened(page, made[1])
    assert page.inner_text(count).split()[0] == page.inner_text(".queue .count") == "2"
    assert page.locator('.rail a[href="/workshop/"]').get_attribute("aria-current") == "true"


def test_holding_a_key_down_decides_once(two_agents, desk, person):  # noqa: F811
    made = [propose(person, name=f"skill {number}") for number in range(3)]
    page = desk("reviewer")
    page.goto(url(made[0]))
    page.keyboard.down("a")
    for _again in range(5):
        page.keyboard.down("a")
    opened(page, made[1])
    page.keyboard.up("a")
    assert [status(item)[0] for item in made] == ["applied", "pending", "pending"]


def test_a_conflict_while_reviewing_keeps_the_typed_words_and_shows_what_changed(two_agents, desk, person):  # noqa: F811
    proposal = propose(person)
    page = desk("reviewer")
    page.goto(url(proposal))
    page.keyboard.press("x")
    page.keyboard.type("Nobody may pay unasked")
    revise_proposal("main", proposal.pk, content=TRIP.replace("Pay.", "Pay by card."), caller=person)
    page.keyboard.press("Enter")
    page.wait_for_selector(".changes")
    assert "You had version 1 on screen; version 2" in page.inner_text(".changes")
    assert page.inner_text(".changes ins").strip() == "by card"
    field = page.locator('.asked input[name="reason"]')
    assert field.input_value() == "Nobody may pay unasked"
    page.wait_for_selector("[name=reason]:focus")
    assert page.url.endswith(url(proposal))
    assert faults(page) == []
    page.keyboard.press("Enter")
    page.wait_for_selector("text=The desk is clear")
    assert status(proposal) == ("rejected", "Nobody may pay unasked")


def test_a_remark_on_a_line_goes_out_with_the_request(two_agents, desk, person):  # noqa: F811
    live_skill(person)
    proposal = update(person)
    page = desk("reviewer")
    page.goto(url(proposal))
    page.click("tr.add .ln a >> nth=0")
    page.wait_for_selector(".remark-form")
    page.wait_for_selector("[name=body]:focus")
    page.keyboard.type("Which seat? Window or aisle")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".remark.tray")
    page.keyboard.press("r")
    page.wait_for_selector("#ask-request:popover-open .remark")
    shoot(page, "desk-request")
    assert faults(page) == []
    page.focus("#pop-request-field")
    page.keyboard.type("Two things.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#messages .note")
    assert Comment.objects.get().request is not None
    message = Delivery.objects.get().text
    assert message.startswith("Two things.")
    assert "Which seat? Window or aisle" in message and "Ask for the seat." in message


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_line_that_goes_is_remarked_on(two_agents, desk, person, phone):  # noqa: F811
    live_skill(person)
    proposal = update(person)
    page = desk("reviewer", phone=phone)
    page.goto(url(proposal))
    page.click("tr.del .ln a >> nth=0")
    page.wait_for_selector(".remark-form")
    page.keyboard.type("Why must it go?")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".filebox .remark.tray")
    # The focus is on what was just written, and the address does not tell of it.
    page.wait_for_selector(f"#remark-{Comment.objects.get().pk}:focus")
    assert page.url.endswith(url(proposal))
    assert not overflows(page)
    assert faults(page) == []
    shoot(page, f"desk-removed-{'phone' if phone else 'desktop'}")
    assert (Comment.objects.get().side, Comment.objects.get().quote) == ("old", "2. Pay.")


def test_typed_words_outlive_a_reload(two_agents, desk, person):  # noqa: F811
    proposal = propose(person)
    page = desk("reviewer")
    page.goto(url(proposal))
    page.keyboard.press("r")
    page.keyboard.type("A long thought")
    page.reload()
    page.keyboard.press("r")
    assert page.input_value("#pop-request-field") == "A long thought"


def test_everything_works_without_javascript(two_agents, desk, person):  # noqa: F811
    live_skill(person)
    proposal = update(person)
    other = propose(person, name="other")
    page = desk("reviewer", script=False)
    page.goto(reverse("workshop:desk"))
    page.click("#tab-history")
    page.click("#tab-diff")
    # The page opens where the reader was.
    assert page.url.endswith(f"{url(proposal, 'diff')}#views")
    page.click("tr.add .ln a >> nth=0")
    page.fill('.remark-form textarea[name="body"]', "Why?")
    page.click(".remark-form button.btn")
    assert "in the tray" in page.inner_text(".remark")
    assert page.url.endswith(f"#remark-{Comment.objects.get().pk}")
    page.click('summary:has-text("unchanged lines") >> nth=0')
    page.click('button:has-text("Reject")')
    page.fill("#pop-reject-field", "Too early")
    revise_proposal("main", proposal.pk, content=TRIP + "- Wave.\n", caller=person)
    page.click("#ask-reject form button.btn >> nth=0")
    assert "You had version 1 on screen" in page.inner_text(".changes")
    assert page.input_value('.asked input[name="reason"]') == "Too early"
    page.click(".asked button.btn >> nth=0")
    assert "other" in page.inner_text("#object-title")
    assert status(proposal) == ("rejected", "Too early")
    page.click('footer.act form:last-of-type button:has-text("Apply")')
    assert "The desk is clear" in page.inner_text("main")
    assert status(other)[0] == "applied"
    page.goto(reverse("workshop:new"))
    page.fill("#id_name", "by hand")
    page.fill("#id_description", "Written without script")
    page.fill("#id_content", "# By hand\n")
    page.set_input_files(
        'input[name="uploads"]', [{"name": "a.md", "mimeType": "text/plain", "buffer": b"side\n"}]
    )
    page.click('button:has-text("Propose")')
    assert Proposal.objects.get(skill_key="by-hand").record["supportFiles"][0]["path"] == "references/a.md"


def test_a_folder_keeps_its_paths(two_agents, desk, person, tmp_path):  # noqa: F811
    folder = tmp_path / "my-skill"
    (folder / "scripts").mkdir(parents=True)
    (folder / "scripts/run.sh").write_text("echo 1\n")
    page = desk("reviewer")
    page.goto(reverse("workshop:new"))
    page.fill("#id_name", "folder")
    page.fill("#id_description", "订票")
    assert page.inner_text('output[for="id_description"]') == "6 of 160 bytes"
    page.fill("#id_content", "# Folder\n")
    page.set_input_files('input[name="tree"]', str(folder))
    page.click('button:has-text("Propose")')
    page.wait_for_selector("#object-title")
    assert Proposal.objects.get().record["supportFiles"][0]["path"] == "scripts/run.sh"


def drop(page, selector, *paths) -> None:
    """Drops files from the file manager on the upper edge of an element, as the browser itself would."""
    page.locator(selector).scroll_into_view_if_needed()
    box = page.locator(selector).bounding_box()
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    session = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        at = {"type": kind, "x": box["x"] + 12, "y": box["y"] + 12, "data": data}
        session.send("Input.dispatchDragEvent", at)


def test_files_and_a_folder_are_dropped_anywhere_on_their_zones(two_agents, desk, person, tmp_path):  # noqa: F811
    (tmp_path / "loose.md").write_text("loose\n")
    folder = tmp_path / "my-skill"
    (folder / "scripts").mkdir(parents=True)
    (folder / "scripts/run.sh").write_text("echo 1\n")
    page = desk("reviewer")
    page.goto(reverse("workshop:new"))
    page.fill("#id_name", "dropped")
    page.fill("#id_description", "Dropped files")
    page.fill("#id_content", "# Dropped\n")
    drop(page, ".dropzone >> nth=0", tmp_path / "loose.md")
    drop(page, ".dropzone >> nth=1", folder)
    shoot(page, "workshop-dropped")
    page.click('button:has-text("Propose")')
    page.wait_for_selector("#object-title")
    kept = [item["path"] for item in Proposal.objects.get().record["supportFiles"]]
    assert sorted(kept) == ["references/loose.md", "scripts/run.sh"]


def test_a_phone_shows_the_desk_without_sideways_scrolling(two_agents, desk, person):  # noqa: F811
    live_skill(person)
    proposal = update(
        person, goal="Asked twice", support_files=[{"path": "references/a.md", "content": "x\n"}]
    )
    add_comment("main", proposal.pk, path="SKILL.md", line=11, body="Why?", caller=person)
    page = desk("reviewer", phone=True)
    for tab in ("diff", "text", "files", "checks", "history"):
        page.goto(url(proposal, tab))
        assert not overflows(page), tab
        for name in ("Apply", "Request changes", "Edit", "Reject", "Quarantine"):
            assert page.locator(f'footer.act .btn:has-text("{name}")').is_visible()
    page.goto(url(proposal, "diff"))
    shoot(page, "desk-phone")
    page.click('footer.act .btn:has-text("Reject")')
    page.fill("#pop-reject-field", "No")
    page.click("#ask-reject form .btn >> nth=0")
    page.wait_for_selector("text=The desk is clear")
    assert status(proposal) == ("rejected", "No")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_on_any_page_of_the_workshop(two_agents, desk, person, dark):  # noqa: F811
    live_skill(person)
    proposal = update(
        person, goal="Asked twice", support_files=[{"path": "scripts/a.sh", "content": "chmod 777 x\n"}]
    )
    add_comment("main", proposal.pk, path="SKILL.md", line=11, body="Why?", caller=person)
    proposal = revise_proposal("main", proposal.pk, content=TRIP + "- Wave.\n", caller=person)
    add_comment("main", proposal.pk, path="SKILL.md", line=11, body="And now?", caller=person)
    locked, old = propose(person, name="locked"), propose(person, name="old")
    quarantine_proposal("main", locked.pk, reason="Dangerous", caller=person)
    reject_proposal("main", old.pk, expected_revision_hash=old.revision_hash, reason="Vague", caller=person)
    skill_file(two_agents, "broken").parent.mkdir(parents=True)
    skill_file(two_agents, "broken").write_text("nothing\n")
    page = desk("administrator", dark=dark, lang="zh-hans" if dark else "en")
    pages = {
        "desk": url(proposal, "diff"),
        "split": url(proposal, "diff") + "?view=split",
        "remark": url(proposal, "diff") + "?at=0:11&view=unified",
        "text": url(proposal, "text"),
        "raw": url(proposal, "text") + "?text=raw",
        "files": url(proposal, "files"),
        "checks": url(proposal, "checks"),
        "history": url(proposal, "history"),
        "version": reverse("workshop:generation", args=[proposal.pk, 1]),
        "compare": reverse("workshop:compare", args=[proposal.pk, 1, 2]),
        "locked": url(locked),
        "edit": reverse("workshop:edit", args=[proposal.pk]),
        "new": reverse("workshop:new"),
        "skills": reverse("workshop:skills"),
        "skill": reverse("workshop:skill", args=["main", "trip"]),
        "quarantine": reverse("workshop:quarantine"),
        "decided": reverse("workshop:decided"),
        "curator": reverse("workshop:curator"),
    }
    found = {}
    for name, address in pages.items():
        page.goto(address)
        shoot(page, f"workshop-{name}-{'dark' if dark else 'light'}")
        # Both themes have the same elements; only their colours differ.
        if wrong := contrast_faults(page) if dark else faults(page):
            found[name] = wrong
    assert found == {}


def contrast_faults(page) -> list[str]:
    rules = Axe().run(page, options={"runOnly": ["color-contrast"]}).response["violations"]
    return [f"{rule['id']}: {node['html'][:160]}" for rule in rules for node in rule["nodes"]]
