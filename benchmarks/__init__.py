"""How fast it is, side by side with others at the same work."""
