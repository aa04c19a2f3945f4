from django.urls import path

from gateway import signin, views

urlpatterns = [
    path("api/rpc/<str:name>", views.rpc, name="rpc"),
    path("api/methods", views.method_list, name="methods"),
    path("events/stream", views.event_stream, name="event_stream"),
    path("signin/", signin.SignIn.as_view(), name="signin"),
    path("signout/", signin.SignOut.as_view(), name="signout"),
    path("setup/", signin.setup, name="setup"),
]
