"""Finding runs in a project tree: the inventory of files, their kinds, their grouping, and what belongs to one run."""
