"""Every string for people has its Chinese, in every app."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
APPS = ("openclaw_web", "gateway", "archives", "agents", "plans", "workshop", "longrun")


@pytest.mark.parametrize("app", APPS)
def test_every_string_of_the_app_is_in_chinese(app):
    done = subprocess.run(
        [ROOT / "script/i18n", "--check", app], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, f"run script/i18n {app}, then translate:\n{done.stdout}{done.stderr}"


def test_the_check_sees_what_is_missing_left_over_and_broken(tmp_path, monkeypatch):
    import importlib.util
    import sys

    monkeypatch.syspath_prepend(str(ROOT / "script"))
    spec = importlib.util.spec_from_file_location("i18n_under_test", ROOT / "script/i18n.py")
    i18n = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(i18n)
    sys.modules.pop("compile_messages", None)
    monkeypatch.setattr(i18n, "ROOT", tmp_path)
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans/views.py").write_text('_("Stop")\n_("Run %(n)s")\nngettext("one", "%(n)d many", n)\n')
    (tmp_path / "templates/plans").mkdir(parents=True)
    (tmp_path / "templates/plans/x.html").write_text(
        "  <p>\n    {% blocktranslate trimmed %}Two\n   lines{% endblocktranslate %}"
    )
    i18n.write("plans", i18n.merged("plans", {("Stop", None): "停止"}))
    assert sorted(i18n.problems("plans")) == [
        "plans: 'Run %(n)s' is not translated",
        "plans: 'Two lines' is not translated",
        "plans: 'one' is not translated",
    ]
    path = i18n.catalogue_path("plans")
    path.write_text(
        path.read_text()
        .replace('msgid "Run %(n)s"\nmsgstr ""', 'msgid "Run %(n)s"\nmsgstr "运行 %(m)s"')
        .replace('msgid "Two lines"\nmsgstr ""', 'msgid "Two lines"\nmsgstr "两行"')
        .replace('msgstr[0] ""', 'msgstr[0] "%(n)d 个"')
        + '\nmsgid "Gone"\nmsgstr "没了"\n'
    )
    found = sorted(i18n.problems("plans"))
    assert found[0] == "plans: 'Gone' is no longer used"
    assert len(found) == 2
    assert "'Run %(n)s'" in found[1]
