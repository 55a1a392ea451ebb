"""How a model is called: the protocol, and the one file that touches litellm."""
