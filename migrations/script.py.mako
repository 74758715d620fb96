"""${message}"""

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Waits 5 s at most for a lock: a migration must not stop the code that is running."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL statement_timeout = '15min'")
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """Migrations only go forward: restore a backup to go back."""
    raise RuntimeError("migrations only go forward: restore a backup to go back")
