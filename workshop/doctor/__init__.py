"""`manage.py doctor` and the start of the server: one code that finds old shapes and leftovers, and mends them.

Every finding has a code, a sentence, a path, and what `--fix` does about it; one without a fix is for a person.
A second run with nothing to do changes no byte; a run that was killed is resumed by the next.
"""

from workshop.doctor.base import Finding, Report
from workshop.doctor.run import examine

__all__ = ["Finding", "Report", "examine"]
