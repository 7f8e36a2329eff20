"""One module a format. Readers know no rules: the log scan takes consumers as arguments and makes one pass."""
