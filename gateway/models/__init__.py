from gateway.models.deliveries import Delivery, DeliveryAttempt
from gateway.models.ledgers import AuditEntry, LedgerEvent
from gateway.models.people import SetupCode, User
from gateway.models.tokens import ApiToken, IdempotencyRecord

__all__ = [
    "ApiToken",
    "AuditEntry",
    "Delivery",
    "DeliveryAttempt",
    "IdempotencyRecord",
    "LedgerEvent",
    "SetupCode",
    "User",
]
