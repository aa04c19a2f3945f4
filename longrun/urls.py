from django.urls import path

from longrun import views

app_name = "longrun"
urlpatterns = [
    path("", views.board, name="board"),
    path("<int:pk>/", views.task, name="task"),
    path("<int:pk>/progress/", views.progress, name="progress"),
    path("<int:pk>/<slug:action>/", views.act, name="act"),
]
