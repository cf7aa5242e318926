"""What the Transformer replaced."""
