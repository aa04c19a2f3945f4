"""The gateway's part of the ops room: people, tokens, ledgers, deliveries, and Django-Q's own tables."""

from django.contrib import admin
from django.contrib.auth.models import Group
from django.utils.translation import gettext_lazy as _

from gateway.admin import deliveries, ledgers, people, queue, tokens

__all__ = ["deliveries", "ledgers", "people", "queue", "tokens"]

admin.site.site_header = "OpenClaw Web"
admin.site.site_title = _("OpenClaw Web ops")
admin.site.index_title = _("Ops room")
admin.site.enable_nav_sidebar = False  # it takes the room of the tables' last columns
admin.site.unregister(Group)  # roles are fixed; a person's role is chosen on the person
