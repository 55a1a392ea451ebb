"""What code did to a namespace, and the way back."""
