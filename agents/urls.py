from django.urls import path

from agents import views

app_name = "agents"
# Ids begin with a letter or a digit, so "-" is nobody's.
urlpatterns = [
    path("", views.roster, name="roster"),
    path("-/new/", views.make, name="make"),
    path("<slug:agent_id>/", views.agent, name="agent"),
    path("<slug:agent_id>/change/", views.change, name="change"),
    path("<slug:agent_id>/remove/", views.remove, name="remove"),
    path("<slug:agent_id>/files/<str:name>", views.file, name="file"),
]
