"""Lines of text in the graph, treated as Python's `str` methods would."""

import tensorflow as tf

# What `str.isspace` is true for.
SPACE = (
    r"[\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]"
)


def clean(text):
    """Text (B,) as `data.read_pairs` would read it: no byte order mark, no white space around."""
    return tf.strings.regex_replace(text, rf"^\x{{feff}}?{SPACE}+|^\x{{feff}}|{SPACE}+$", "")


def one_line(text):
    """Text (B,) without anything that ends a line, with single spaces, and none around."""
    text = tf.strings.regex_replace(text, f"{SPACE}+", " ")
    return tf.strings.regex_replace(text, "^ | $", "")
