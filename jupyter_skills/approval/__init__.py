"""Who may run what: the request, the decision, and the chain that is asked."""
