from django.urls import path

from workshop.views import curator, decisions, lists, propose, remarks, review, skills

app_name = "workshop"
_ONE = "proposals/<slug:proposal_id>/"

urlpatterns = [
    path("", lists.desk, name="desk"),
    path("quarantine/", lists.quarantine, name="quarantine"),
    path("decided/", lists.decided, name="decided"),
    path("new/", propose.new, name="new"),
    path(_ONE, review.proposal, name="proposal"),
    path(f"{_ONE}edit/", propose.edit, name="edit"),
    path(f"{_ONE}do/<slug:action>/", decisions.decide, name="decide"),
    path(f"{_ONE}remarks/", remarks.add, name="remark"),
    path(f"{_ONE}remarks/<int:remark_id>/drop/", remarks.drop, name="drop_remark"),
    path(f"{_ONE}v/<int:version>/", review.generation, name="generation"),
    path(f"{_ONE}compare/", review.choose, name="choose"),
    path(f"{_ONE}compare/<int:old>/<int:new>/", review.compare, name="compare"),
    path(f"{_ONE}<slug:tab>/", review.proposal, name="tab"),
    path("skills/", skills.inventory, name="skills"),
    path("skills/<slug:agent_id>/<path:folder>/", skills.skill, name="skill"),
    path("curator/", curator.curator, name="curator"),
    path("curator/learn/", curator.learn, name="learn"),
    path("curator/rules/", curator.rules, name="rules"),
]
