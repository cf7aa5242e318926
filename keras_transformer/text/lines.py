"""Text as one line."""


def one_line(text):
    """The text with single spaces, and nothing that ends a line."""
    return " ".join(text.split())
