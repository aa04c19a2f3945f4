"""`{% load archives %}`: an agent's words with its archived files as cards."""

from typing import Any

from django import template
from django.utils.safestring import SafeString

from archives.cards import render_agent_markdown

register = template.Library()


@register.filter(is_safe=False)
def agent_markdown(text: Any, agent_id: str = "") -> SafeString:
    """`{{ message.text|agent_markdown:agent_id }}`: sanitised Markdown, cards in place, notes on broken blocks.

    It brings its own `hx-disable`d wrappers: cards open in place by HTMX, the agent's text cannot.
    """
    return render_agent_markdown(str(text or ""), str(agent_id or ""))
