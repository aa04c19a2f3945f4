app_name = "archives"
urlpatterns: list = []
