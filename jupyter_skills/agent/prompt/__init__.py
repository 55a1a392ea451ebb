"""What is put before the model: the system message, the catalog of skills, the prompt, and how much each part is."""
