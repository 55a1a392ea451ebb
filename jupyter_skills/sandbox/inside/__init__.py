"""What runs inside the sandbox. The host sends the text of these files along: there is nothing of ours in an image.

They import the standard library, each other, and pyzmq, which ipykernel brings along; nothing else.
"""
