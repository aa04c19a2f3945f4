"""The messages to sessions, in the language of the task: Chinese where its own words are, else English.

They go to an agent's session, not to a reader of the dashboard, so the reader's language does not matter.
A message says only what is known: what was not confirmed is said to be not confirmed.
"""

import re
from datetime import timedelta

from longrun.models import LongTask

_HAN = re.compile(r"[\u3400-\u9fff]")


def is_chinese(task: LongTask) -> bool:
    return bool(_HAN.search(task.name + task.goal + task.note))


def progress_text(task: LongTask) -> str:
    """A short progress: what is being looked at, what was just confirmed, what is next."""
    looking = task.focus or task.goal or task.name
    if is_chinese(task):
        return (
            f"【{task.name}】\n正在看：{looking}\n"
            f"刚确认：{task.confirmed or '还没有新的确认'}\n下一步：{task.note or '还没有写明'}"
        )
    return (
        f"[{task.name}]\nLooking at: {looking}\n"
        f"Just confirmed: {task.confirmed or 'nothing new yet'}\nNext: {task.note or 'not named yet'}"
    )


def resume_text(task: LongTask, silent: timedelta) -> str:
    """Asks the agent to carry on after silence."""
    if is_chinese(task):
        return (
            f"【{task.name}】已 {span_words(silent, chinese=True)} 没有任何动静，请从当前下一步继续：{task.note or task.goal or task.name}。"
            "先发一条短进度，再往下做；做不下去就转 blocked，写清卡在哪里、缺什么、建议下一步。"
        )
    return (
        f"[{task.name}] There was no sign for {span_words(silent)}. Carry on with the next step: "
        f"{task.note or task.goal or task.name}. Send a short progress first. If it cannot go on, set it to "
        "blocked and say where it is stuck, what is missing and what you suggest."
    )


def operator_resume_text(task: LongTask, why: str) -> str:
    """Tells the agent that a person lets the task go on."""
    if is_chinese(task):
        return f"【{task.name}】负责人已让任务继续。{('说明：' + why + '。') if why else ''}下一步：{task.note or task.goal or task.name}"
    return (
        f"[{task.name}] The operator lets this task go on. {('Their words: ' + why + '. ') if why else ''}"
        f"Next: {task.note or task.goal or task.name}"
    )


def recovery_text(task: LongTask, finding: str, over: timedelta) -> str:
    """Asks after a task that the watchdog has found."""
    if is_chinese(task):
        what = {
            "lost": f"已失联 {span_words(over, chinese=True)}",
            "stuck": f"已 {span_words(over, chinese=True)} 没有推进",
            "overdue": f"已超过约定检查时间 {span_words(over, chinese=True)}",
            "checkpoint_due": "等待的检查点已到",
        }[finding]
        return (
            f"【{task.name}】{what}。目标：{task.goal or task.name}。下一步：{task.note or '还没有写明'}。"
            "请现在报告真实状态：能继续就发短进度并更新状态；不能继续就转 blocked 或 handoff。"
        )
    what = {
        "lost": f"No sign of this task for {span_words(over)}.",
        "stuck": f"This task has not advanced for {span_words(over)}.",
        "overdue": f"The agreed check is {span_words(over)} overdue.",
        "checkpoint_due": "The checkpoint that was waited for has come.",
    }[finding]
    return (
        f"[{task.name}] {what} Goal: {task.goal or task.name}. Next: {task.note or 'not named yet'}. Say "
        "how it really stands: send a short progress and report the state, or call it blocked or handoff."
    )


def handoff_text(task: LongTask) -> str:
    """Gives the task to the session of its boundary."""
    if is_chinese(task):
        return (
            f"【{task.name}】转派到“{task.boundary}”。目标：{task.goal or task.name}。完成条件：{task.done_when or '未写明'}。"
            f"下一步：{task.note or '未写明'}。来自会话：{task.origin_session_key or '未绑定'}"
        )
    return (
        f"[{task.name}] Handed off to “{task.boundary}”. Goal: {task.goal or task.name}. "
        f"Done when: {task.done_when or 'not named'}. Next: {task.note or 'not named'}. "
        f"From session: {task.origin_session_key or 'not bound'}"
    )


def change_text(task: LongTask, why: str) -> str:
    """Tells the agent that a person changed the state of its task."""
    if is_chinese(task):
        return f"【{task.name}】负责人把任务状态改为 {task.state}。{('说明：' + why) if why else ''}".strip()
    return f"[{task.name}] The operator set this task to {task.state}. {why}".strip()


def block_answers(task: LongTask, reason: str, detail: str) -> tuple[str, str, str]:
    """Where it is stuck, what is missing, what is suggested, for a block that nobody wrote by hand."""
    chinese = is_chinese(task)
    where = task.focus or task.note or task.goal or task.name
    missing, suggestion = (_BLOCK_ZH if chinese else _BLOCK_EN)[reason]
    return where, f"{missing}{('：' if chinese else ': ') + detail if detail else ''}", suggestion


_BLOCK_ZH = {
    "tool_failures": ("连续 3 次工具失败", "查看最后一次错误，换一种做法或修好工具后再继续"),
    "no_advance": ("超过时限没有推进", "确认代理是否还在运行；发送恢复消息，或改为等待并约定检查点"),
    "undelivered": ("连续 3 次到点的前台心跳没有送达", "检查目标会话和发送通道，修好后继续"),
    "need": ("缺少继续所需的条件", "由负责人补上后继续"),
}
_BLOCK_EN = {
    "tool_failures": ("3 tool failures in a row", "Look at the last error; try another way or mend the tool"),
    "no_advance": (
        "No advance within the limit",
        "See whether the agent still runs; send a recovery message, or set it to waiting with a checkpoint",
    ),
    "undelivered": (
        "3 due heartbeats in a row were not delivered",
        "Check the session and the way messages are sent, then resume",
    ),
    "need": ("Something is missing that only a person can give", "Provide it, then resume"),
}


def span_words(span: timedelta, *, chinese: bool = False) -> str:
    """A span in its largest whole unit below two days: `14 minutes`, `14 分钟`."""
    seconds = max(0, int(span.total_seconds()))
    for size, word, zh in (
        (86400, "day", "天"),
        (3600, "hour", "小时"),
        (60, "minute", "分钟"),
        (1, "second", "秒"),
    ):
        if seconds >= (size * 2 if size == 86400 else size) or size == 1:
            count = seconds // size
            return f"{count} {zh}" if chinese else f"{count} {word}{'' if count == 1 else 's'}"
    return ""
