"""A project to another machine: the archive, what goes in, how it comes out."""
