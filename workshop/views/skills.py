"""Live skills: the inventory, and one skill to read."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from gateway.access import role_required
from gateway.callers import caller_of
from gateway.errors import AppError
from openclaw_web.diffview import numbered_text
from openclaw_web.htmx import render_page
from openclaw_web.markdown import render_markdown
from workshop import bundle
from workshop.models import Proposal
from workshop.queries import skills as reads
from workshop.views import drawing, shown

VIEWS = ("read", "raw", "files", "diff")


@role_required("viewer")
@require_GET
def inventory(request: HttpRequest) -> HttpResponse:
    """All live skills of an agent or of all, those changed since they were applied first. `?q=` searches."""
    agent_id = request.agent_id or None  # type: ignore[attr-defined]
    found = reads.collection(caller_of(request), agent_id)
    text = request.GET.get("q", "").strip()[:200]
    wanted = text.casefold()
    skills = [
        row
        for row in found.skills
        if wanted in f"{row.skill.name} {row.skill.key} {row.skill.description}".casefold()
    ]
    return render_page(
        request,
        "workshop/skills.html",
        {
            "found": found,
            "skills": skills,
            "text": text,
            "all_agents": agent_id is None,
            "changed": len([row for row in skills if row.changed]),
        },
        region="skills",
    )


@role_required("viewer")
@require_GET
def skill(request: HttpRequest, agent_id: str, folder: str) -> HttpResponse:
    """One live skill: rendered, raw, its files (`?file=`), and what changed since it was applied last."""
    try:
        page = reads.skill_page(agent_id, folder.rstrip("/"), caller_of(request))
    except AppError as error:
        raise Http404(error.message) from error
    view = request.GET.get("view", "read")
    view = view if view in VIEWS else "read"
    # Hidden files (a .env, say) are nobody's reading: they are neither listed nor opened.
    shown_files = [file for file in page.files if not any(p.startswith(".") for p in file.path.split("/"))]
    files = {file.path: file for file in shown_files}
    main = files.get(bundle.SKILL_NAME)
    text = (main.text if main else None) or ""
    context = {
        "page": page,
        "skill_files": shown_files,
        "skill": page.row.skill,
        "tab": view,
        "agent_id": agent_id,
        "pending": [item for item in page.history if item.status == Proposal.Status.PENDING],
        "history": [(item, *shown.status_pill(item)) for item in page.history],
    }
    if view == "read":
        source = bundle.read(text)
        context |= {"html": render_markdown(source.body), "block": "\n".join(source.lines or [])}
    elif view == "raw":
        context["sections"] = numbered_text(text)
    elif view == "files":
        open_file = files.get(request.GET.get("file", bundle.SKILL_NAME), main)
        context |= {"open_file": open_file, "sections": numbered_text((open_file and open_file.text) or "")}
    else:
        context["files"] = drawing.draw_files(page.difference, request=request)
        context["split"] = drawing.wants_split(request)
    response = render_page(request, "workshop/skill.html", context, region="skill")
    if request.GET.get("diff") in ("split", "unified"):
        response.set_cookie(drawing.SPLIT_COOKIE, request.GET["diff"], max_age=31536000, samesite="Lax")
    return response
