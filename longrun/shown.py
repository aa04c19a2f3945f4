"""What a page shows of a task: a card with its clock, a line of its timeline, a contradiction."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from gateway.models import Delivery, DeliveryAttempt
from longrun.models import SCAN_EVERY, LongTask, TaskEvent
from longrun.words import EVENTS, FINDING_TONES, PURPOSES, STATE_TONES, undelivered_reason


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two things that cannot both be so, side by side: what is claimed, and what was seen."""

    claim: str
    seen: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a task's timeline: an event, or a message with its attempts."""

    at: datetime
    event: TaskEvent | None = None
    delivery: Delivery | None = None
    attempts: tuple[DeliveryAttempt, ...] = ()

    @property
    def moved(self) -> tuple[str, str]:
        """The states that a change led from and to, in words; empty where it was no change."""
        if self.event is None or self.event.kind != "state":
            return "", ""
        labels = {state.value: str(state.label) for state in LongTask.State}
        return labels.get(self.event.from_state, ""), labels.get(self.event.to_state, "")

    @property
    def why(self) -> str:
        """The reason in words; where it is a finding, its name."""
        if self.event is None:
            return ""
        labels = {finding.value: str(finding.label) for finding in LongTask.Finding if finding.value}
        named = self.event.kind in ("finding", "sign_seen", "recovered")
        if named:
            return labels.get(self.event.why, self.event.why)
        lost = self.event.kind in ("heartbeat_lost", "progress_lost", "recovery_tried")
        return undelivered_reason(self.event.why) if lost else self.event.why

    @property
    def icon(self) -> str:
        return EVENTS.get(self.event.kind, ("circle", ""))[0] if self.event else "mail"

    @property
    def word(self) -> str:
        if self.event:
            return str(EVENTS.get(self.event.kind, ("", self.event.kind))[1])
        return str(PURPOSES.get(self.delivery.purpose, self.delivery.purpose)) if self.delivery else ""


@dataclass(frozen=True, slots=True)
class Card:
    """A task as the board shows it: its clock is of the last visible sign, its limits `warn_after` and `bad_after`."""

    task: LongTask
    tone: str
    age: timedelta | None
    seen_at: datetime | None
    warn_after: timedelta
    bad_after: timedelta

    @classmethod
    def of(cls, task: LongTask, now: datetime) -> "Card":
        tone, age = sign_tone(task, now)
        every = task.progress_every or SCAN_EVERY
        return cls(
            task=task,
            tone=tone,
            age=age,
            seen_at=task.last_visible_at or task.started_at,
            warn_after=every,
            bad_after=max(task.limit, every),
        )

    @property
    def progress_error(self) -> str:
        """Why the last progress was not received, in words."""
        return undelivered_reason(self.task.last_progress_error)

    @property
    def state_tone(self) -> str:
        return STATE_TONES[self.task.state]

    @property
    def finding_tone(self) -> str:
        return FINDING_TONES.get(self.task.finding, "")

    @property
    def seen_ms(self) -> str:
        """The instant of the last visible sign in milliseconds since 1970, for the script."""
        return str(int(self.seen_at.timestamp() * 1000)) if self.seen_at else ""

    @property
    def warn_ms(self) -> str:
        return str(int(self.warn_after.total_seconds() * 1000))

    @property
    def bad_ms(self) -> str:
        return str(int(self.bad_after.total_seconds() * 1000))

    @property
    def clock(self) -> str:
        """The age as `hh:mm:ss`, from which the script counts on; empty from a day on."""
        seconds = max(0, int(self.age.total_seconds())) if self.age is not None else 86_400
        if seconds >= 86_400:
            return ""
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def sign_tone(task: LongTask, now: datetime | None = None) -> tuple[str, timedelta | None]:
    """How old the last visible sign is, and its tone: `ok`, from one interval on `warn`, from the limit on `bad`."""
    now = now or timezone.now()
    seen = task.last_visible_at or task.started_at
    if seen is None:
        return "", None
    age = now - seen
    if not task.is_working:
        return "", age
    every = task.progress_every or SCAN_EVERY
    return ("bad" if age > max(task.limit, every) else "warn" if age > every else "ok"), age
