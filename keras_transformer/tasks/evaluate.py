"""How good the translations of a run are, in numbers others can compare."""

import time

from keras_transformer.data import describe_dropped
from keras_transformer.data.tfds_pairs import PREFIX
from keras_transformer.tasks.corpus import load_pairs
from keras_transformer.tasks.display import console
from keras_transformer.tasks.run_folder import RunFolder
from keras_transformer.tasks.settings import check_tokenize
from keras_transformer.tasks.translate import Translator


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
        data: "phrases" or "stories" for the held-out pairs of an embedded corpus, a TSV file of
            pairs, or a data set of TFDS, of which the test part is taken.
        source: text file, one sentence a line; instead of `data`. With a data set of TFDS, the name
            of a feature; those of the training unless given.
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
    check_tokenize(tokenize)
    pairs = load_test_pairs(RunFolder(run, "translation"), data, source, target, skip_bad_lines)
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


def load_test_pairs(folder, data, source, target, skip_bad_lines=False):
    """The pairs to evaluate a run with; of an embedded corpus, those held out."""
    of_tfds = data is not None and str(data).startswith(PREFIX)
    if (source is None) != (target is None) or (not of_tfds and (data is None) == (source is None)):
        raise ValueError("Give either --data, or both --source and --target")
    trained = folder.config["training"]
    if of_tfds and source is None and trained["data"] == data:
        source, target = trained["source"], trained["target"]  # the direction it has learned
    pairs, dropped = load_pairs(data, source, target, skip_bad_lines)
    if dropped:
        console.print(f"Left out of the test pairs: {describe_dropped(dropped)}", markup=False)
    return pairs


def score(translations, references, tokenize="13a"):
    """BLEU and chrF with their signatures, and the share of exact matches, in percent."""
    from sacrebleu.metrics import BLEU, CHRF  # half a second, and only needed here

    check_tokenize(tokenize)
    bleu, chrf = BLEU(tokenize=tokenize, force=True), CHRF()
    same = sum(t == r for t, r in zip(translations, references, strict=True))
    return {
        "bleu": bleu.corpus_score(translations, [references]).score,
        "chrf": chrf.corpus_score(translations, [references]).score,
        "exact_match": 100 * same / len(references),
        "bleu_signature": str(bleu.get_signature()),
        "chrf_signature": str(chrf.get_signature()),
    }
