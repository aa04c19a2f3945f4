"""Every page over a copy of a state dir that the real program made, with 10,000 archived files in it."""

import json
from pathlib import Path

import pytest

from tests.agents.test_state_dir import check_every_page
from tests.agents.world import TOKEN, dress

pytestmark = [pytest.mark.real_openclaw, pytest.mark.django_db]


def test_a_real_state_dir_with_ten_thousand_files(administrator, real_state: Path, tmp_path):
    config = real_state / "openclaw.json"
    whole = json.loads(config.read_text())
    whole["gateway"]["auth"]["token"] = TOKEN
    config.write_text(json.dumps(whole, indent=2, ensure_ascii=False))
    assert [path.name for path in (real_state / "agents").iterdir()]  # the program's own stores are there
    workspaces = {"main": real_state / "workspace", "ops": real_state / "workspace-ops"}
    for root in workspaces.values():
        assert (root / "SOUL.md").is_file()
    dress(workspaces, tmp_path / "outside", files=10_000)
    check_every_page(administrator, config, workspaces, tmp_path / "outside", files=10_000, each=6, limit=250)
