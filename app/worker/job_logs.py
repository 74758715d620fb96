"""Keeps the arguments of jobs out of the log: one that fits no payload may hold anything."""

import logging
import re

from app.jobs.fair_share import Lane

# The queue's workers write by this logger and by children of it that are named after the lanes.
_LOGGERS = ("procrastinate.worker", *(f"procrastinate.worker.{lane}" for lane in Lane))
# Some lines, as at shutdown, name no job beside their text. Arguments may hold brackets: all to the last one goes.
_CALL = re.compile(r"(\[\d+\])\(.*\)", re.DOTALL)


class _WithoutArguments(logging.Filter):
    """Writes `task[id]` where a line says `task[id](arguments)`."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the line; keep it always."""
        message = record.getMessage()
        job = getattr(record, "job", None)
        if isinstance(job, dict):
            message = message.replace(str(job["call_string"]), f"{job['task_name']}[{job['id']}]")
        record.msg, record.args = _CALL.sub(r"\1", message), ()
        return True


_FILTER = _WithoutArguments()


def hide_job_arguments() -> None:
    """Apply to this process; doing it again changes nothing."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)
