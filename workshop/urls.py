app_name = "workshop"
urlpatterns: list = []
