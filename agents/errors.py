"""What this app refuses, in sentences for people."""

from gateway.errors import AppError


class AgentsError(AppError):
    """Codes: unknown_agent | bad_id | id_taken | bad_name | bad_workspace | from_config | unknown_file | file_refused."""
