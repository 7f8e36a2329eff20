"""Starting the user's command, bounded and recorded, in a copy of the project at a named commit."""
