"""GroundedDocs: private document question answering with exact, verified quotes."""
