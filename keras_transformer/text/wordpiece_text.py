"""Text as word pieces want it: cleaned, in lower case, in words; as operations of a graph.

It follows the tokenizers of published BERT models to the character. TensorFlow Text has the same
steps in one operation, but folds what they leave alone: ligatures, "ß" to "ss", wide digits.
"""

import tensorflow as tf

# What `char::is_whitespace` is true for in Rust, but for those that count as control characters.
SPACE = r"[\t\n\r\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]"
# Private characters but for the first few, in the place of which `WordPieceTokenizer` puts its own.
CONTROL = r"[\p{Cc}\p{Cf}\x{e005}-\x{f8ff}\x{f0000}-\x{ffffd}\x{100000}-\x{10fffd}\x{fffd}]"
ACCENT = r"\p{Mn}"
CHINESE = (
    r"\x{3400}-\x{4dbf}\x{4e00}-\x{9fff}\x{f900}-\x{faff}\x{20000}-\x{2a6df}"
    r"\x{2a700}-\x{2b81f}\x{2b920}-\x{2ceaf}\x{2f800}-\x{2fa1f}"
)
# Each of these is a word of its own.
SINGLE = rf"([\pP$+<=>^`|~{CHINESE}])"


def normalize(text, lowercase=True):
    """Text (B,) without control characters; in lower case also without accents."""
    import tensorflow_text

    text = tf.strings.regex_replace(text, SPACE, " ")
    text = tf.strings.regex_replace(text, CONTROL, "")
    if not lowercase:
        return text
    text = tensorflow_text.normalize_utf8(text, "NFD")
    text = tf.strings.regex_replace(text, ACCENT, "")
    # Sigma: left to TensorFlow, it would have another form at the end of a word.
    text = tf.strings.regex_replace(text, "\u03a3", "\u03c3")
    return tf.strings.lower(text, encoding="utf-8")


def split_words(text):
    """Normalised text (B,) in words, a ragged (B, W) tensor; punctuation stands alone."""
    return tf.strings.split(tf.strings.regex_replace(text, SINGLE, r" \1 "))
