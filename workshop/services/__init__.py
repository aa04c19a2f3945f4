"""Every write of the Workshop. Pages, methods, commands and the admin all come through here.

Functions take `caller` (who) and `door` (`gateway` for pages and methods, `cli` for the command line), write one
audit entry a decision, and raise `WorkshopError`.
"""
