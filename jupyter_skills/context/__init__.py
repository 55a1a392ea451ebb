"""What of a notebook is put before a model: values of expressions, attached files, and no secrets."""
