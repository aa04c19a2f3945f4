"""Methods of long-run tasks: what the bundle's scripts, `manage.py longrun` and programs call.

Scripts and methods go together in docs/longrun.md. Field names of a task are the seed's.
"""

from typing import Any

from gateway.callers import READ, WRITE, Caller
from gateway.registry import method
from gateway.rpc import as_payload
from longrun import queries
from longrun.params import (
    AcknowledgeParams,
    AgentParams,
    AttemptParams,
    CleanupParams,
    IdleParams,
    ImportParams,
    KeepaliveParams,
    ListParams,
    ProgressParams,
    ResumeParams,
    RunParams,
    SetParams,
    StepParams,
    TaskParams,
    ToolParams,
    TriggerParams,
    ValidateParams,
)
from longrun.services import cleanup, heartbeat, importing, keepalive, signs, start, tasks, watchdog
from longrun.services.common import find_task
from longrun.trigger import find_trigger, says_continue


@method("longrun.set", params=SetParams, scope=WRITE)
def set_task(params: SetParams, caller: Caller) -> dict[str, Any]:
    """Registers a task or changes its state and texts; a refused change stores nothing."""
    given = params.model_dump(exclude={"task", "state", "agent_id"})
    task = tasks.set_task(
        params.task,
        state=params.state,
        report=tasks.Report(**given),
        caller=caller,
        agent_id=params.agent_id,
    )
    return queries.as_dict(task)


@method("longrun.get", params=TaskParams, scope=READ)
def get_task(params: TaskParams, caller: Caller) -> dict[str, Any]:
    """One task with its fields, moments, counters, contradictions and last message."""
    return queries.as_dict(find_task(params.task, caller=caller, agent_id=params.agent_id))


@method("longrun.list", params=ListParams, scope=READ)
def list_tasks(params: ListParams, caller: Caller) -> dict[str, Any]:
    """Tasks, those reported last first."""
    rows = queries.visible(caller, agent_id=params.agent_id, state=params.state)[: params.limit]
    return {"tasks": [queries.as_dict(task) for task in rows]}


@method("longrun.clear", params=TaskParams, scope=WRITE)
def clear(params: TaskParams, caller: Caller) -> dict[str, Any]:
    """Removes a task and its timeline; its messages stay in the delivery ledger."""
    return {"removed": tasks.clear_task(params.task, caller=caller, agent_id=params.agent_id)}


@method("longrun.validateStart", params=ValidateParams, scope=WRITE)
def validate_start(params: ValidateParams, caller: Caller) -> dict[str, Any]:
    """Whether a task is started and bound to exactly the expected session key."""
    return start.validate_start(
        params.task,
        expect_session_key=params.expect_session_key,
        caller=caller,
        agent_id=params.agent_id,
        session_seen=params.session_seen,
    )


@method("longrun.touchReply", params=TaskParams, scope=WRITE)
def touch_reply(params: TaskParams, caller: Caller) -> dict[str, Any]:
    """The agent replied in view of the person."""
    return queries.as_dict(signs.touch_reply(params.task, caller=caller, agent_id=params.agent_id))


@method("longrun.touchTool", params=ToolParams, scope=WRITE)
def touch_tool(params: ToolParams, caller: Caller) -> dict[str, Any]:
    """A tool came back or failed, or a quiet call has begun; what is missing blocks at once."""
    task = signs.touch_tool(
        params.task,
        caller=caller,
        agent_id=params.agent_id,
        failed=params.failed,
        error=params.error,
        need=params.need,
        running_for=params.running,
    )
    return queries.as_dict(task)


@method("longrun.touchProgress", params=ProgressParams, scope=WRITE)
def touch_progress(params: ProgressParams, caller: Caller) -> dict[str, Any]:
    """The progress on its way was received in the session."""
    task = heartbeat.confirm_progress(
        params.task,
        caller=caller,
        agent_id=params.agent_id,
        delivery_id=params.delivery,
        message=params.message,
    )
    return queries.as_dict(task)


@method("longrun.markProgressAttempt", params=AttemptParams, scope=WRITE)
def mark_progress_attempt(params: AttemptParams, caller: Caller) -> dict[str, Any]:
    """A try to send the progress failed, or its outcome is unknown, with the reason."""
    task = heartbeat.fail_progress(
        params.task,
        caller=caller,
        error=params.error,
        agent_id=params.agent_id,
        delivery_id=params.delivery,
        unknown=params.unknown,
    )
    return queries.as_dict(task)


@method("longrun.acknowledge", params=AcknowledgeParams, scope=WRITE)
def acknowledge(params: AcknowledgeParams, caller: Caller) -> dict[str, Any]:
    """These messages were received in their session; the tasks they are about learn it at once."""
    received = heartbeat.acknowledge_messages(params.ids, caller=caller)
    return {"deliveries": [as_payload(delivery) for delivery in received]}


@method("longrun.markResume", params=ResumeParams, scope=WRITE)
def mark_resume(params: ResumeParams, caller: Caller) -> dict[str, Any]:
    """The resume or recovery message was received in the session."""
    task = keepalive.mark_resume(
        params.task, caller=caller, agent_id=params.agent_id, delivery_id=params.delivery
    )
    return queries.as_dict(task)


@method("longrun.foreground.check", params=TaskParams, scope=READ)
def foreground_check(params: TaskParams, caller: Caller) -> dict[str, Any]:
    """Whether a short progress of one task is due; changes nothing."""
    return heartbeat.check_progress(params.task, caller=caller, agent_id=params.agent_id)


@method("longrun.foreground.build", params=TaskParams, scope=WRITE)
def foreground_build(params: TaskParams, caller: Caller) -> dict[str, Any]:
    """The short progress of one task, generated and not sent."""
    return heartbeat.build_progress(params.task, caller=caller, agent_id=params.agent_id)


@method("longrun.foreground.tick", params=TaskParams, scope=WRITE)
def foreground_tick(params: TaskParams, caller: Caller) -> dict[str, Any]:
    """Whether a progress must be sent now, with the message; once more until it is sent or recorded."""
    return heartbeat.tick(params.task, caller=caller, agent_id=params.agent_id)


@method("longrun.workCycle", params=StepParams, scope=WRITE)
def work_cycle(params: StepParams, caller: Caller) -> dict[str, Any]:
    """One turn of the work loop: the step just done, and whether a progress must be sent now."""
    return heartbeat.tick(
        params.task,
        caller=caller,
        agent_id=params.agent_id,
        step=params.step,
        focus=params.focus,
        next_step=params.next,
    )


@method("longrun.foreground.due", params=AgentParams, scope=WRITE)
def foreground_due(params: AgentParams, caller: Caller) -> dict[str, Any]:
    """All progresses that are due, generated as events; nothing is sent."""
    found = heartbeat.emit_due(caller=caller, agent_id=params.agent_id)
    return {"events": found, "count": len(found), "sent": 0}


@method("longrun.foreground.dispatch", params=AgentParams, scope=WRITE)
def foreground_dispatch(params: AgentParams, caller: Caller) -> dict[str, Any]:
    """The due progresses as a plan of `sessions_send` calls; nothing is sent."""
    return heartbeat.dispatch_due(caller=caller, agent_id=params.agent_id)


@method("longrun.keepalive.tick", params=IdleParams, scope=READ)
def keepalive_tick(params: IdleParams, caller: Caller) -> dict[str, Any]:
    """Whether one task is at work and silent for too long; changes nothing."""
    return keepalive.check_idle(
        params.task, caller=caller, agent_id=params.agent_id, idle_seconds=params.idle_seconds
    )


@method("longrun.keepalive.resume", params=IdleParams, scope=WRITE)
def keepalive_resume(params: IdleParams, caller: Caller) -> dict[str, Any]:
    """The resume of one silent task as an event; nothing is sent."""
    return keepalive.emit_resume(
        params.task, caller=caller, agent_id=params.agent_id, idle_seconds=params.idle_seconds
    )


@method("longrun.keepalive.run", params=KeepaliveParams, scope=WRITE)
def keepalive_run(params: KeepaliveParams, caller: Caller) -> dict[str, Any]:
    """One keepalive pass: the plan, sent only with `autoResume` (or the server's own setting)."""
    return keepalive.run_keepalive(
        caller=caller,
        agent_id=params.agent_id,
        idle_seconds=params.idle_seconds,
        carry_out=params.auto_resume,
    )


@method("longrun.watchdog.check", params=AgentParams, scope=READ)
def watchdog_check(params: AgentParams, caller: Caller) -> dict[str, Any]:
    """Tasks that are lost, stuck, overdue or at their checkpoint, with evidence; changes nothing."""
    found = watchdog.check_due(caller=caller, agent_id=params.agent_id)
    return {"findings": found, "count": len(found)}


@method("longrun.watchdog.run", params=RunParams, scope=WRITE)
def watchdog_run(params: RunParams, caller: Caller) -> dict[str, Any]:
    """One watchdog pass that keeps its findings, with the recovery payloads; sent only with `send`."""
    answer = watchdog.run_watchdog(caller=caller, agent_id=params.agent_id)
    answer["recovery"] = watchdog.build_payloads(caller=caller, agent_id=params.agent_id)
    if params.send:
        answer["sending"] = watchdog.send_recoveries(caller=caller, agent_id=params.agent_id)
    return answer


@method("longrun.recovery.suggest", params=AgentParams, scope=READ)
def recovery_suggest(params: AgentParams, caller: Caller) -> dict[str, Any]:
    """What to do about each finding; changes nothing."""
    found = watchdog.suggest_recoveries(caller=caller, agent_id=params.agent_id)
    return {"recoveries": found, "count": len(found)}


@method("longrun.recovery.messages", params=AgentParams, scope=WRITE)
def recovery_messages(params: AgentParams, caller: Caller) -> dict[str, Any]:
    """The recovery messages of what is found now, generated and not sent."""
    made = watchdog.make_recoveries(caller=caller, agent_id=params.agent_id)
    return {"messages": made, "count": len(made), "sent": 0}


@method("longrun.recovery.payloads", params=AgentParams, scope=WRITE)
def recovery_payloads(params: AgentParams, caller: Caller) -> dict[str, Any]:
    """The recovery messages that have not arrived, as `sessions_send` payloads; nothing is sent."""
    return watchdog.build_payloads(caller=caller, agent_id=params.agent_id)


@method("longrun.recovery.send", params=AgentParams, scope=WRITE)
def recovery_send(params: AgentParams, caller: Caller) -> dict[str, Any]:
    """Tries to send the recovery messages one by one and writes each outcome back."""
    return watchdog.send_recoveries(caller=caller, agent_id=params.agent_id)


@method("longrun.cleanup", params=CleanupParams, scope=WRITE)
def clean_up(params: CleanupParams, caller: Caller) -> dict[str, Any]:
    """What is old, left from tests or unbound; removed (and exported) only with `apply`."""
    return cleanup.clean_up(
        caller=caller, agent_id=params.agent_id, older_days=params.older_days, apply=params.apply
    )


@method("longrun.import", params=ImportParams, scope=WRITE)
def import_states(params: ImportParams, caller: Caller) -> dict[str, Any]:
    """Registers the tasks of an old `.task-state.json`; what the rules refuse is listed."""
    return importing.import_states(params.data, caller=caller, agent_id=params.agent_id)


@method("longrun.trigger", params=TriggerParams, scope=READ)
def trigger(params: TriggerParams, caller: Caller) -> dict[str, Any]:
    """Whether a message opens long-run mode, or only continues a task that runs."""
    found = find_trigger(params.message)
    running = bool(params.task) and find_task(params.task, caller=caller, agent_id=params.agent_id).is_working
    return {
        "triggers": found is not None,
        "password": found.password if found else None,
        "task": found.task if found else None,
        "continues": found is None and running and says_continue(params.message),
    }


@method("longrun.messages", params=TaskParams, scope=READ)
def messages(params: TaskParams, caller: Caller) -> dict[str, Any]:
    """The messages of a task in the delivery ledger, newest first, each with its three truths."""
    task = find_task(params.task, caller=caller, agent_id=params.agent_id)
    return {"messages": [as_payload(row) for row in queries.deliveries_of(task)[:100]]}
