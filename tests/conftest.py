"""What every test stands on: a state dir, a data dir and caches of its own; people of each role."""

from pathlib import Path

import pytest
from django.contrib.auth.models import Group
from django.core.cache import caches

from gateway.callers import ROLES, SCOPES, Caller, command_caller
from gateway.models import User

pytest_plugins = ["tests.browser"]


@pytest.fixture(scope="session", autouse=True)
def _fast_and_plain():
    """A fast password hasher and static files without a manifest: neither is what a test is about."""
    from django.conf import settings

    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }


@pytest.fixture(autouse=True)
def state_dir(tmp_path: Path, settings) -> Path:
    """A fresh, empty OpenClaw state dir (and data dir) for this test alone."""
    path = tmp_path / "openclaw"
    path.mkdir()
    settings.OPENCLAW_STATE_DIR = path
    settings.OPENCLAW_CONFIG_PATH = ""
    settings.DATA_DIR = tmp_path / "data"
    caches["local"].clear()
    return path


@pytest.fixture
def people(db) -> dict[str, User]:
    """One person of each role; the password is `correct horse`."""
    made = {}
    for role in ROLES:
        admin = role == "administrator"
        user = User.objects.create_user(role, password="correct horse", is_staff=admin, is_superuser=admin)
        # A test with real transactions ends by emptying the tables, the groups of the migrations too.
        user.groups.add(Group.objects.get_or_create(name=role)[0])
        made[role] = user
    return made


@pytest.fixture
def viewer(client, people):
    """A browser signed in as a viewer."""
    client.force_login(people["viewer"])
    return client


@pytest.fixture
def reviewer(client, people):
    """A browser signed in as a reviewer."""
    client.force_login(people["reviewer"])
    return client


@pytest.fixture
def administrator(client, people):
    """A browser signed in as an administrator."""
    client.force_login(people["administrator"])
    return client


@pytest.fixture
def person(people) -> Caller:
    """The reviewer as a caller of services."""
    user = people["reviewer"]
    return Caller(
        kind="person", label=user.username, scopes=frozenset({"operator.read", "operator.write"}), user=user
    )


@pytest.fixture
def shell() -> Caller:
    """The command line as a caller of services."""
    return command_caller()


@pytest.fixture
def agent_caller() -> Caller:
    """A token that agent `main` holds, with every scope an administrator could give it."""
    return Caller(
        kind="token",
        label="token of main",
        scopes=frozenset(SCOPES),
        agent_ids=frozenset({"main"}),
        is_agent=True,
        session_key="agent:main:main",
    )
