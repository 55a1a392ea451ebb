"""What is sent to the server, taken without holding up anybody else."""
