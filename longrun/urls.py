app_name = "longrun"
urlpatterns: list = []
