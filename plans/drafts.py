"""From a wish to something a person can say yes to: a baseline, two or three options, and room for other words.

Source: `seeds/schedule-plan.txt` (需求理解规则, ORA 拆解) and `spec/plans.md` §1. These texts become part of a PLAN.md,
so they are in the language of the wish, not in the language of the page; that is why they are tables and not
translations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from plans.planfile_write import Draft
from plans.schedule_text import write_schedule
from plans.wishes import Wish

OTHER = {"zh": "其他：[由用户补充]", "en": "Other: [your words]"}
DEFAULT_CRON = "cron 0 9 * * MON-FRI"

LABELS = {
    "zh": {"frequency": "频率", "deliverable": "交付物", "failure": "失败处理"},
    "en": {"frequency": "Frequency", "deliverable": "Deliverable", "failure": "If it fails"},
}
FREQUENCIES = {
    "daily": ("cron 0 9 * * *", {"zh": "每天 09:00", "en": "Every day at 09:00"}),
    "weekdays": ("cron 0 9 * * MON-FRI", {"zh": "每个工作日 09:00", "en": "Every weekday at 09:00"}),
    "weekly": ("cron 0 9 * * MON", {"zh": "每周一 09:00", "en": "Every Monday at 09:00"}),
}
AS_WISHED = {"zh": "按你说的时间", "en": "As you said"}
DELIVERABLES = {
    "report": {
        "zh": (
            "一份报告 report.md：结论在前，依据在后",
            "report.md",
            "写成 `report.md`：先给结论，再列依据与来源。",
        ),
        "en": (
            "A report, report.md: conclusion first, evidence after",
            "report.md",
            "Write `report.md`: the conclusion first, then the evidence and its sources.",
        ),
    },
    "summary": {
        "zh": (
            "一页摘要 summary.md：不超过十行",
            "summary.md",
            "写成 `summary.md`：不超过十行，只留需要人知道的内容。",
        ),
        "en": (
            "A one-page summary, summary.md: ten lines at most",
            "summary.md",
            "Write `summary.md`: ten lines at most, only what a person needs to know.",
        ),
    },
    "table": {
        "zh": (
            "一张表 result.json：供程序继续处理",
            "result.json",
            "写成 `result.json`：每一项一个对象，字段名固定。",
        ),
        "en": (
            "A table for programs, result.json",
            "result.json",
            "Write `result.json`: one object for each item, with fixed field names.",
        ),
    },
}
FAILURES = {
    "report": {
        "zh": (
            "写明原因并结束，下次照常",
            "任一步失败：停止后续步骤，在产物中写明失败的步骤与原因，下次照常执行。",
        ),
        "en": (
            "Write down why and end; next time as usual",
            "If a step fails: stop, write which step failed and why into the output, and run as usual next time.",
        ),
    },
    "retry": {
        "zh": (
            "自行再试一次，仍失败再写明原因",
            "任一步失败：原样再试一次；仍失败则停止，并在产物中写明两次的原因。",
        ),
        "en": (
            "Try once more, then write down why",
            "If a step fails: try it once more; if it fails again, stop and write both reasons into the output.",
        ),
    },
    "partial": {
        "zh": (
            "交付已完成的部分，并标出缺口",
            "任一步失败：交付已完成的部分，在产物开头标出缺少的内容与原因。",
        ),
        "en": (
            "Deliver what is done and mark the gap",
            "If a step fails: deliver what is done, and mark at the top of the output what is missing and why.",
        ),
    },
}
TEXTS = {
    "zh": {
        "untitled": "未命名的计划",
        "objective": "{matter}。解决的痛点：这件事不再靠人记起、靠人催办。体现 SOUL.md：{soul}",
        "soul_read": "遵循其中“{line}”的主张。",
        "soul_unread": "尚未读到 SOUL.md，执行前须先读取并对齐。",
        "result": "成功判定：按时执行，`{file}` 存在、内容非空且回答了“{matter}”。交付物：{deliverable}。可见成果：归档卡片与运行记录。",
        "gather": "收集完成“{matter}”所需的材料；只用可以核对的来源，拿不到的写明拿不到。",
    },
    "en": {
        "untitled": "Untitled plan",
        "objective": "{matter}. The pain it removes: nobody has to remember or chase this any more. How it reflects SOUL.md: {soul}",
        "soul_read": "it follows “{line}”.",
        "soul_unread": "SOUL.md has not been read yet; read it and align before acting.",
        "result": "Success: it ran on time and `{file}` exists, is not empty and answers “{matter}”. Deliverable: {deliverable}. What becomes visible: the archive card and the run's record.",
        "gather": "Gather what “{matter}” needs; use only sources that can be checked, and say what could not be had.",
    },
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer of an option: `value` is a schedule line or a key, `label` what a person reads."""

    key: str
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Option:
    key: str
    label: str
    choices: tuple[Choice, ...]
    chosen: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """The preset, whole: ORA in the wish's language, the schedule as a line for PLAN.md."""

    name: str
    objective: str
    result: str
    actions: tuple[str, ...]
    schedule: str


@dataclass(frozen=True, slots=True)
class Intake:
    """What answers a wish, in order: baseline, options, `other`; `notes` say what was not understood."""

    language: str
    baseline: Baseline
    options: tuple[Option, ...]
    other: str
    notes: tuple[str, ...]
    drafted_by: str = "rules"


def draft_intake(
    wish: Wish, *, zone: str, soul_line: str = "", chosen: dict[str, str] | None = None, other: str = ""
) -> Intake:
    """The rules' answer to a wish. `chosen` holds answers by option key; `other` is the person's own words.

    `soul_line` is a line that really was read from SOUL.md, or empty.
    """
    chosen = chosen or {}
    options = (
        _frequency(wish, zone, chosen.get("frequency", "")),
        _pick(
            "deliverable", wish.language, {k: v[wish.language][0] for k, v in DELIVERABLES.items()}, chosen
        ),
        _pick("failure", wish.language, {k: v[wish.language][0] for k, v in FAILURES.items()}, chosen),
    )
    answers = {option.key: option.chosen for option in options}
    schedule = next(choice.value for choice in options[0].choices if choice.key == answers["frequency"])
    baseline = _baseline(wish, schedule, answers, soul_line, other)
    return Intake(wish.language, baseline, options, OTHER[wish.language], wish.notes)


def _frequency(wish: Wish, zone: str, chosen: str) -> Option:
    choices = [
        Choice(key, labels[wish.language], f"{line} ({zone})") for key, (line, labels) in FREQUENCIES.items()
    ]
    if wish.timing is not None:
        said = write_schedule(wish.timing)
        choices = [choice for choice in choices if choice.value != said][:2]
        choices.insert(0, Choice("wished", AS_WISHED[wish.language], said))
    default = "wished" if wish.timing is not None else "weekdays"
    keys = {choice.key for choice in choices}
    label = LABELS[wish.language]["frequency"]
    return Option("frequency", label, tuple(choices), chosen if chosen in keys else default)


def _pick(key: str, language: str, labels: dict[str, str], chosen: dict[str, str]) -> Option:
    choices = tuple(Choice(name, label, name) for name, label in labels.items())
    answer = chosen.get(key, "")
    return Option(key, LABELS[language][key], choices, answer if answer in labels else choices[0].key)


def _baseline(wish: Wish, schedule: str, answers: dict[str, str], soul_line: str, other: str) -> Baseline:
    texts = TEXTS[wish.language]
    matter = wish.matter or wish.text
    deliverable, file, write = DELIVERABLES[answers["deliverable"]][wish.language]
    failure = FAILURES[answers["failure"]][wish.language][1]
    soul = texts["soul_read"].format(line=soul_line) if soul_line else texts["soul_unread"]
    actions = [texts["gather"].format(matter=matter)]
    if other.strip():
        actions.append(" ".join(other.split()))
    actions += [write, failure]
    return Baseline(
        name=_title(wish),
        objective=texts["objective"].format(matter=matter, soul=soul),
        result=texts["result"].format(file=file, matter=matter, deliverable=deliverable),
        actions=tuple(actions),
        schedule=schedule,
    )


def _title(wish: Wish) -> str:
    first = " ".join((wish.matter or wish.text).split("\n")[0].split())
    return (first[:40] + "…" if len(first) > 41 else first) or TEXTS[wish.language]["untitled"]


def to_draft(baseline: Baseline, *, task_id: str, archive_id: str, persona: str) -> Draft:
    """The baseline as an entry for PLAN.md."""
    return Draft(
        task_id=task_id,
        name=baseline.name,
        archive_id=archive_id,
        persona=persona,
        objective=baseline.objective,
        result=baseline.result,
        actions=baseline.actions,
        schedule=baseline.schedule,
    )


def with_changes(baseline: Baseline, **changes: object) -> Baseline:
    """The baseline with the person's own words where they gave some (empty values change nothing)."""
    return replace(baseline, **{key: value for key, value in changes.items() if value})  # type: ignore[arg-type]
