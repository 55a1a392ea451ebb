"""What a skill is: reading one, finding one by name. Runs no code of any skill."""
