"""One turn: the prompt, the tools, the loop and its events. Knows nothing of IPython, Docker or litellm."""
