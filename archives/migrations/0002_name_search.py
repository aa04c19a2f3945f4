"""The full-text index over file names, kept by triggers so that no way of writing rows can forget it.

SQLite loses triggers when a later migration rebuilds the table: such a migration must run `forwards` again.
"""

from django.db import migrations

SQLITE = (
    """
    CREATE VIRTUAL TABLE archives_name_search USING fts5(
        search_text, content='archives_archivefile', content_rowid='id', tokenize='unicode61', prefix='2 3 4'
    )
    """,
    """
    CREATE TRIGGER archives_name_search_added AFTER INSERT ON archives_archivefile BEGIN
        INSERT INTO archives_name_search(rowid, search_text) VALUES (new.id, new.search_text);
    END
    """,
    """
    CREATE TRIGGER archives_name_search_gone AFTER DELETE ON archives_archivefile BEGIN
        INSERT INTO archives_name_search(archives_name_search, rowid, search_text)
        VALUES ('delete', old.id, old.search_text);
    END
    """,
    """
    CREATE TRIGGER archives_name_search_changed AFTER UPDATE OF search_text ON archives_archivefile BEGIN
        INSERT INTO archives_name_search(archives_name_search, rowid, search_text)
        VALUES ('delete', old.id, old.search_text);
        INSERT INTO archives_name_search(rowid, search_text) VALUES (new.id, new.search_text);
    END
    """,
)
SQLITE_AWAY = (
    "DROP TRIGGER IF EXISTS archives_name_search_added",
    "DROP TRIGGER IF EXISTS archives_name_search_gone",
    "DROP TRIGGER IF EXISTS archives_name_search_changed",
    "DROP TABLE IF EXISTS archives_name_search",
)
POSTGRES = (
    "CREATE INDEX archives_name_search ON archives_archivefile USING gin (to_tsvector('simple', search_text))",
)
POSTGRES_AWAY = ("DROP INDEX IF EXISTS archives_name_search",)


def forwards(apps, schema_editor):
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRES:
        schema_editor.execute(statement, params=None)


def backwards(apps, schema_editor):
    for statement in SQLITE_AWAY if schema_editor.connection.vendor == "sqlite" else POSTGRES_AWAY:
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("archives", "0001_initial")]
    operations = [migrations.RunPython(forwards, backwards)]
