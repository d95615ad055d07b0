"""What runs inside Claude Code: the hook, and the setting that asks for it."""
