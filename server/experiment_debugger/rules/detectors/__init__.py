"""Rules with logic: one module each, pure, found by scanning this folder."""
