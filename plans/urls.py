"""Addresses of plans. The names are used by models' get_absolute_url: plan, revision, run, intake."""

from django.urls import path

from plans.views import edits, intakes, lists, plans, reviews, runs

app_name = "plans"
urlpatterns = [
    path("", lists.plan_list, name="list"),
    path("new/", intakes.start, name="start"),
    path("new/<uuid:uid>/", intakes.intake, name="intake"),
    path("calendar/", lists.calendar, name="calendar"),
    path("runs/<uuid:uid>/", runs.run_page, name="run"),
    path("runs/<uuid:uid>/stop/", runs.stop, name="stop_run"),
    path("<uuid:uid>/", plans.plan_page, name="plan"),
    path("<uuid:uid>/review/", reviews.review, name="review"),
    path("<uuid:uid>/confirm/", reviews.confirm, name="confirm"),
    path("<uuid:uid>/changes/", reviews.ask_changes, name="request_changes"),
    path("<uuid:uid>/look/", reviews.look, name="look"),
    path("<uuid:uid>/edit/", edits.edit, name="edit"),
    path("<uuid:uid>/schedule/", edits.schedule, name="set_schedule"),
    path("<uuid:uid>/restore/<int:number>/", edits.restore, name="restore"),
    path("<uuid:uid>/settings/", plans.settings, name="settings"),
    path("<uuid:uid>/do/<str:action>/", plans.act, name="act"),
    path("<uuid:uid>/runs/", plans.runs, name="runs"),
    path("<uuid:uid>/revisions/<int:number>/", plans.revision, name="revision"),
    path("<uuid:uid>/diff/<int:old>/<int:new>/", plans.diff, name="diff"),
    path("<uuid:uid>/compare/", plans.compare, name="compare"),
]
