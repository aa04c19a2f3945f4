"""Addresses of plans. The names are used by models' get_absolute_url: plan, revision, run, intake."""

app_name = "plans"
urlpatterns: list = []
