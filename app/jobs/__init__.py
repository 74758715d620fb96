"""The job queue: what can be asked of the worker, and how a job joins the transaction that causes it."""
