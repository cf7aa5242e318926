"""Learning a vocabulary of pieces from text, with SentencePiece."""

import io
import re

import sentencepiece

PADDING, START, END, UNKNOWN = range(4)
MASK = "[MASK]"

# What SentencePiece calls them. "lowercase" is Unicode's case folding after NFKC.
NORMALIZATIONS = {"none": "identity", "nfkc": "nfkc", "lowercase": "nfkc_cf"}
KINDS = ("bpe", "unigram")


def learn_vocabulary(
    lines,
    vocab_size=8000,
    kind="bpe",
    normalization="none",
    fewer=False,
    mask=False,
    exact=False,
):
    """Learns pieces of words that cover the text; what they do not cover is spelt in bytes.

    Args:
        lines: strings.
        vocab_size: how many pieces, the 256 bytes and four special ones included.
        kind: "bpe" (Sennrich et al. 2016) or "unigram" (Kudo 2018).
        normalization: what becomes of the text first: "none", "nfkc" or "lowercase".
        fewer: whether to take as many pieces as there are if the text has not `vocab_size`, instead
            of raising an error.
        mask: whether to have a piece that stands for what a model has to guess.
        exact: whether spaces and line feeds are kept as they are, so that a text comes back from
            its pieces to the letter.

    Returns:
        The SentencePiece model, as bytes. Ids: padding 0, start 1, end 2, unknown 3, which never
        occurs.
    """
    for name, value, choices in (
        ("kind", kind, KINDS),
        ("normalization", normalization, NORMALIZATIONS),
    ):
        if value not in choices:
            names = ", ".join(map(repr, choices))
            raise ValueError(f"`{name}` must be one of {names}. Received: {name}={value!r}")
    lines = list(lines)
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            vocab_size=vocab_size,
            model_type=kind,
            normalization_rule_name=NORMALIZATIONS[normalization],
            character_coverage=1.0,
            byte_fallback=True,
            pad_id=PADDING,
            bos_id=START,
            eos_id=END,
            unk_id=UNKNOWN,
            user_defined_symbols=[MASK] * mask + ["\n"] * exact,
            remove_extra_whitespaces=not exact,
            add_dummy_prefix=not exact,
            num_threads=2,  # the result of "unigram" depends on it
            minloglevel=2,
        )
    except RuntimeError as error:
        limit = _limit(str(error))
        if fewer and limit:
            return learn_vocabulary(lines, limit, kind, normalization, mask=mask, exact=exact)
        raise ValueError(_explain(str(error), vocab_size)) from None
    return model.getvalue()


def _explain(error, vocab_size):
    """SentencePiece's complaint in words that say what to do."""
    limit = _limit(error)
    if limit:
        return f"The text has pieces for at most {limit}. Received: vocab_size={vocab_size}"
    smallest = re.search(r"smaller than required_chars. \d+ vs (\d+)", error)
    if smallest:
        return (
            f"The text has so many characters that `vocab_size` must be at least {smallest[1]}. "
            f"Received: vocab_size={vocab_size}"
        )
    return f"No vocabulary could be learned: {error}"


def _limit(error):
    """The largest possible vocabulary, if that is what SentencePiece complains about."""
    limit = re.search(r"<= (\d+)", error)
    return int(limit[1]) if limit else None
