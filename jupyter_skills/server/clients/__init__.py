"""The store in the shapes that the clients of Anthropic and OpenAI speak."""
