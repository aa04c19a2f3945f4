from django.contrib import admin
from django.urls import include, path

from gateway import signin
from openclaw_web import preferences, views

urlpatterns = [
    path("", views.home, name="home"),
    path("", include("gateway.urls")),
    path("archives/", include("archives.urls")),
    path("agents/", include("agents.urls")),
    path("plans/", include("plans.urls")),
    path("workshop/", include("workshop.urls")),
    path("tasks/", include("longrun.urls")),
    path("search/", views.search, name="search"),
    path("health/", views.health, name="health"),
    path("healthz", views.alive, name="alive"),
    path("activity/", views.activity, name="activity"),
    path("account/", preferences.account, name="account"),
    path("reading/language", preferences.set_language, name="set_language"),
    path("reading/theme", preferences.set_theme, name="set_theme"),
    path("admin/login/", signin.admin_sign_in),
    path("admin/logout/", signin.SignOut.as_view()),
    path("admin/", admin.site.urls),
]

handler400 = "openclaw_web.errors.bad_request"
handler403 = "openclaw_web.errors.forbidden"
handler404 = "openclaw_web.errors.not_found"
handler500 = "openclaw_web.errors.server_error"
