"""What Claude Code keeps and where: reads it, decides nothing."""
