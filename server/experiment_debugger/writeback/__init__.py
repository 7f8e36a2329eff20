"""What is written into a project: the debug report, the risk board, hand-offs; one writer at a time, never half."""
