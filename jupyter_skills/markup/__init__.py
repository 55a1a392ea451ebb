"""A model's Markdown, and code, as HTML that does nothing but look."""
