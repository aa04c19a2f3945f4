from django.urls import path

from archives import views, views_files

app_name = "archives"
_archive = "<str:agent_id>/<str:archive_id>/"
urlpatterns = [
    path("", views.archives, name="archives"),
    # "-" is no agent's name: these come before what begins with one.
    path("-/lint/", views.lint_all, name="lint_all"),
    path("-/lint/<str:agent_id>/", views.lint, name="lint"),
    path("-/lint/<str:agent_id>/copy/", views.lint_copy, name="lint_copy"),
    path(_archive, views.archive, name="archive"),
    path(_archive + "news/", views.news, name="news"),
    path(_archive + "plan/", views.plan, name="plan"),
    path(_archive + "plan/<int:number>/", views.plan_revision, name="plan_revision"),
    path(_archive + "checks/", views.checks, name="checks"),
    path(_archive + "bucket/<str:timestamp>/", views.bucket, name="bucket"),
    path(_archive + "zip/", views_files.zip_archive, name="zip"),
    path(_archive + "zip/<str:timestamp>/", views_files.zip_bucket, name="zip_bucket"),
    path(_archive + "file/<path:subpath>", views_files.file, name="file"),
    path(_archive + "preview/<path:subpath>", views_files.preview, name="preview"),
    path(_archive + "raw/<path:subpath>", views_files.raw, name="raw"),
    path(_archive + "sandbox/<path:subpath>", views_files.sandbox, name="sandbox"),
    path(_archive + "download/<path:subpath>", views_files.download, name="download"),
]
