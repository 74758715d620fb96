"""Users, workspaces, who belongs to them, and the only place that makes a `WorkspaceScope`."""
