"""Instants as the pages write them, in the admin too."""

DATE_FORMAT = SHORT_DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i:s"
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "Y-m-d H:i:s"
