"""What is known about failures: signatures, detectors, code checks and the cause table."""
