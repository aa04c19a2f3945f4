from workshop.models.curation import CollectionReview, ImportRun, LearningSession, ReviewState, SkillUsage
from workshop.models.desk import AgentDesk, Comment, RevisionRequest
from workshop.models.proposals import Event, EventCounter, Generation, Proposal, Publication
from workshop.models.rollbacks import Rollback, RollbackFile

__all__ = [
    "AgentDesk",
    "CollectionReview",
    "Comment",
    "Event",
    "EventCounter",
    "Generation",
    "ImportRun",
    "LearningSession",
    "Proposal",
    "Publication",
    "ReviewState",
    "RevisionRequest",
    "Rollback",
    "RollbackFile",
    "SkillUsage",
]
