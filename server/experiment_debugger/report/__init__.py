"""Render answers as Markdown and JSON and fit them into their budget. Nothing is computed here."""
