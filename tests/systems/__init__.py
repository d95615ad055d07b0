"""Homes as they are on other systems: links, mounts, spellings, bytes."""
