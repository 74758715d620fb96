"""Keeps the arguments of jobs out of the log: one that fits no payload may hold anything."""

import logging

# The queue's worker writes by this logger and by a child of it named after the worker.
_LOGGERS = ("procrastinate.worker", "procrastinate.worker.worker")


class _WithoutArguments(logging.Filter):
    """Writes `task[id]` where a line says `task[id](arguments)`."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the line; keep it always."""
        job = getattr(record, "job", None)
        if isinstance(job, dict):
            record.msg = str(record.msg).replace(str(job["call_string"]), f"{job['task_name']}[{job['id']}]")
            record.args = ()
        return True


_FILTER = _WithoutArguments()


def hide_job_arguments() -> None:
    """Apply to this process; doing it again changes nothing."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)
