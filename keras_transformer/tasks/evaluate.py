"""How good the translations of a run are, in numbers others can compare."""

import time

from keras_transformer.data import describe_dropped
from keras_transformer.tasks.corpus import load_pairs
from keras_transformer.tasks.display import console
from keras_transformer.tasks.translate import Translator

# Those of sacreBLEU that need nothing further to be installed.
TOKENIZERS = ("13a", "none", "intl", "char", "zh")


def evaluate(
    run,
    data=None,
    source=None,
    target=None,
    tokenize="13a",
    skip_bad_lines=False,
    show_progress=False,
    **options,
):
    """Translates the source sentences of a test set and compares with its target sentences.

    Args:
        run: path of the run's folder.
        data: "phrases" for the held-out pairs of the embedded corpus, or a TSV file of pairs.
        source: text file, one sentence a line; instead of `data`.
        target: its translation, line by line.
        tokenize: how sacreBLEU splits words: "13a", its default, or "none" for text that is
            tokenised already; see its documentation for others.
        skip_bad_lines: leave out lines that are not UTF-8 instead of stopping.
        show_progress: whether to show a bar.
        **options: of `Translator.load`, such as `beam_size`.

    Returns:
        A dict: `bleu`, `chrf` and `exact_match` (percent), `sentences`, `seconds` (of translating,
        loading aside), `bleu_signature` and `chrf_signature`, and `outputs`, a list of (source,
        reference, translation).
    """
    pairs = load_test_pairs(data, source, target, skip_bad_lines)
    translator = Translator.load(run, **options)
    sources, references = map(list, zip(*pairs, strict=True))
    translator(sources[:1])  # traces the decoder
    began = time.monotonic()
    translations = translator(sources, show_progress)
    seconds = time.monotonic() - began
    return {
        **score(translations, references, tokenize),
        "sentences": len(pairs),
        "seconds": seconds,
        "outputs": list(zip(sources, references, translations, strict=True)),
    }


def load_test_pairs(data, source, target, skip_bad_lines=False):
    """The pairs to evaluate with; of the embedded corpus, those held out."""
    if (data is None) == (source is None) or (source is None) != (target is None):
        raise ValueError("Give either --data, or both --source and --target")
    pairs, dropped = load_pairs(data, source, target, skip_bad_lines)
    if dropped:
        console.print(f"Left out of the test pairs: {describe_dropped(dropped)}", markup=False)
    return pairs


def score(translations, references, tokenize="13a"):
    """BLEU and chrF with their signatures, and the share of exact matches, in percent."""
    from sacrebleu.metrics import BLEU, CHRF  # half a second, and only needed here

    if tokenize not in TOKENIZERS:
        raise ValueError(
            f"`tokenize` must be one of {', '.join(TOKENIZERS)}. Received: tokenize={tokenize!r}"
        )
    bleu, chrf = BLEU(tokenize=tokenize, force=True), CHRF()
    same = sum(t == r for t, r in zip(translations, references, strict=True))
    return {
        "bleu": bleu.corpus_score(translations, [references]).score,
        "chrf": chrf.corpus_score(translations, [references]).score,
        "exact_match": 100 * same / len(references),
        "bleu_signature": str(bleu.get_signature()),
        "chrf_signature": str(chrf.get_signature()),
    }
