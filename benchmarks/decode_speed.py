"""Translating Multi30k's 1,000 test sentences: sentences a second, ours and others', same weights.

    python -m benchmarks.decode_speed DATA --run runs/ende
    python -m benchmarks.decode_speed DATA      # trains a model for a quarter of an hour first

All have the same weights and get the same ids; what is timed is from ids to ids. Batches of 64 are
of all sentences, batches of 8 and single ones of every fifth, and the slowest translate some of
them only. Batches are sorted by length; one at a time means one after the other. Contestants come
with several thread settings, and of each the best counts, work by work: [1 + 1] are two batches
side by side with a thread for each. "39 steps" are that many tokens after a source of 16, whatever
they are: no sentence ends. Beams have no length penalty. All processes keep memory they have freed.
"""

import argparse
import itertools
import json
import pickle
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.contest import KEEP_MEMORY, Contestant, compete
from benchmarks.multi30k_data import multi30k_files, multi30k_settings
from benchmarks.report import draw_bars, print_table, ratio, spread, verdict, write_json

BEAM = 5
ROOM = 48  # for translations of these sentences, where a contestant needs to know
STEPS, STEPS_SOURCE = 39, 16
GREEDY, BEAMS, FORCED = "greedy", f"beam {BEAM}", f"{STEPS} steps"
# Of how many sentences, so that no contestant takes minutes; and of how many for slow ones.
SENTENCES = {64: 1000, 8: 200, 1: 200}
A_FEW = {64: 128, 8: 24, 1: 10}
REPEATS, ENOUGH = 5, 2.0  # of one measurement at most, and seconds after which there are no more
WORK = [(kind, batch) for kind in (GREEDY, BEAMS, FORCED) for batch in SENTENCES]
OURS = "ours"


def main(data, run, rounds, out):
    """Measures and reports."""
    run = run or train_for_a_while(data, Path(out) / "run")
    with tempfile.TemporaryDirectory() as folder:
        files = prepare(Path(folder), data, run)
        takes_part = contestants(run, files)
        rows = compete(takes_part, rounds)
    groups, every = {}, {}
    for kind, batch in WORK:
        setting = describe(kind, batch)
        every[setting] = {
            name: [figures[setting]["rate"] for figures in of_rounds]
            for name, of_rounds in rows.items()
            if setting in of_rounds[0]
        }
        speeds = groups[setting] = best_of_each(every[setting])
        unit = "tokens/s" if kind == FORCED else "sentences/s"
        print_table(setting, speeds, unit, f"{OURS}, graph")
    equal = report_equality(rows)
    write_json(
        out,
        "decode_speed",
        question="sentences a second, and tokens a second of forced steps",
        command=f"python -m benchmarks.decode_speed DATA --run RUN --rounds {rounds}",
        model=json.loads((Path(run) / "config.json").read_text())["model"],
        threads={c.name: c.threads for c in takes_part},
        equal_to_ours=equal,
        settings={
            setting: {
                "rates": speeds,
                "rates with all thread settings": every[setting],
                "ratio of ours": {
                    ours: {
                        name: {
                            **ratio(speeds[ours], values),
                            "verdict": verdict(speeds[ours], values),
                        }
                        for name, values in speeds.items()
                    }
                    for ours in speeds
                    if is_ours(ours)
                },
            }
            for setting, speeds in groups.items()
        },
    )
    draw_bars(
        out,
        "decode_speed",
        "Translating Multi30k's test set, two cores",
        {setting: speeds for setting, speeds in groups.items() if FORCED not in setting},
        "sentences/s",
        is_ours,
    )


def describe(kind, batch):
    """A setting in words."""
    return f"{kind}, " + ("one at a time" if batch == 1 else f"batches of {batch}")


def family_of(name):
    """The contestant, whatever its threads: what stands before the brackets."""
    return name.partition(" [")[0]


def best_of_each(rates):
    """From contestants to their rates, with their best thread settings only.

    >>> best_of_each({"a [1]": [1, 2, 3], "a [2]": [4, 5, 6], "b [2]": [5, 6, 7]})
    {'a': [4, 5, 6], 'b': [5, 6, 7]}
    """
    best = {}
    for name in sorted(rates, key=lambda name: spread(rates[name])["median"]):
        best[family_of(name)] = rates[name]
    return {family_of(name): best[family_of(name)] for name in rates}


def is_ours(name):
    """Whether a contestant is one of ours."""
    return name.startswith(OURS)


def train_for_a_while(data, out):
    """A run of the size in question, if there is none yet."""
    from keras_transformer.tasks import train

    if not (out / "model.keras").exists():
        settings = multi30k_settings(data, vocab_size=8000, max_minutes=15)
        train(out, overwrite=True, **{k: v for k, v in vars(settings).items() if v is not None})
    return out


def prepare(folder, data, run):
    """The ids, and the model as each contestant wants it."""
    from benchmarks.peers.ctranslate2_model import convert
    from benchmarks.peers.torch_decoding import torch_weights
    from keras_transformer.data import read_pairs
    from keras_transformer.export import Translation
    from keras_transformer.export.saved_model import IDS, Signature, write_saved_model
    from keras_transformer.layers.positional_embedding import sine_positions
    from keras_transformer.tasks import RunFolder

    folder_of_run = RunFolder(run)
    model, tokenizers = folder_of_run.load_model(), folder_of_run.tokenizers()
    sources = [source for source, _ in read_pairs(*multi30k_files(data, "test_2016_flickr"))[0]]
    ids = tokenizers[0].encode(sources)
    random = np.random.default_rng(0)
    forced = random.integers(4, tokenizers[0].vocab_size, (64, STEPS_SOURCE)).astype("int32")
    config = model.get_config()
    positions = sine_positions(config["max_length"], config["dim"])
    files = {name: str(folder / name) for name in ("ids", "torch", "float32", "int8", "saved")}
    Path(files["ids"]).write_bytes(pickle.dumps((ids, forced)))
    weights = (torch_weights(model, positions), config["num_heads"], config["num_layers"])
    Path(files["torch"]).write_bytes(pickle.dumps(weights))
    convert(model, Path(files["float32"]))
    convert(model, Path(files["int8"]), "int8")
    signatures = {}
    for beam_size in (1, BEAM):
        translation = Translation(model, tokenizers, beam_size, alpha=0.0)

        def search(source, translation=translation):
            found, _ = translation.search(source)
            return {"ids": found}

        signatures[f"beam_{beam_size}"] = Signature(search, {"source": IDS})
    write_saved_model(Path(files["saved"]), signatures, model)
    return files


def contestants(run, files):
    """All who take part, with their thread settings."""
    common, one_each = {"file": files["ids"]}, "1 thread an op, 2 at a time"
    found = [
        Contestant(f"{OURS}, graph [1 + 1]", ours, {**common, "run": str(run)}, one_each),
        Contestant(f"{OURS}, XLA [1 + 1]", ours_compiled, {**common, "run": str(run)}, one_each),
        Contestant(
            f"{OURS}, SavedModel [1 + 1]", ours_saved, {**common, "saved": files["saved"]}, one_each
        ),
    ]
    together = "2 threads an op"
    for name, make in (
        ("KerasHub with cache", keras_hub),
        ("KerasHub's tutorial", keras_hub_tutorial),
    ):
        for xla, workers in itertools.product((False, True), (2, 1)):
            found.append(
                Contestant(
                    f"{name}, {'XLA' if xla else 'graph'} [{'1 + 1' if workers == 2 else '2'}]",
                    make,
                    {**common, "run": str(run), "xla": xla, "workers": workers},
                    one_each if workers == 2 else together,
                )
            )
    for workers in (2, 1):
        found.append(
            Contestant(
                f"PyTorch with cache [{'1 + 1' if workers == 2 else '2'}]",
                pytorch,
                {**common, "weights": files["torch"], "workers": workers},
                one_each if workers == 2 else together,
                {"OMP_NUM_THREADS": str(2 // workers)},
            )
        )
    for kind in ("float32", "int8"):
        for workers, threads in ((2, 1), (1, 2), (1, 1)):
            found.append(
                Contestant(
                    f"CTranslate2 {kind} [{workers} x {threads}]",
                    ctranslate2,
                    {**common, "folder": files[kind], "kind": kind, "pool": (workers, threads)},
                    f"{workers} worker(s) of {threads} thread(s)",
                    {"OMP_NUM_THREADS": str(threads)},
                )
            )
    for contestant in found:
        contestant.environment.update(KEEP_MEMORY)
    return found


def side_by_side(translate, batches, workers):
    """What a function makes of each batch, so many at a time; but single sentences one by one."""
    if workers == 1 or len(batches[0]) == 1:
        return [translate(batch) for batch in batches]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(translate, batches))


def read_ids(file):
    """Sentences as lists of ids with the end token, and the sources of forced steps."""
    from keras_transformer.text import END

    ids, forced = pickle.loads(Path(file).read_bytes())
    return [[*sentence, END] for sentence in ids], forced


def pad(sentences, multiple=1):
    """Ids (B, S)."""
    length = -(-max(map(len, sentences)) // multiple) * multiple
    ids = np.zeros((len(sentences), length), "int32")
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = sentence
    return ids


def timed(translate, batches):
    """What becomes of batches, and how many seconds it takes: once if that is long, or a median.

    While others had their turn, caches got cold and memory may have been taken away: some are
    translated before, and all of them if that is quick. Who has code of its own for every shape
    would otherwise be measured cold.
    """
    began = time.perf_counter()
    translate(batches[: -(-len(batches) // 5)])
    if time.perf_counter() - began < ENOUGH / 5:
        translate(batches)
    times = []
    while len(times) < REPEATS and sum(times) < ENOUGH:
        began = time.perf_counter()
        found = translate(batches)
        times.append(time.perf_counter() - began)
    return found, float(np.median(times))


def until_end(row):
    """Ids before the end token."""
    row = list(row)
    return row[: row.index(2)] if 2 in row else [token for token in row if token]


def measure(sentences, forced, translate, steps, kinds=(GREEDY, BEAMS), counts=SENTENCES):
    """The work of a contestant: a function that does all of it and says how long each took.

    Args:
        sentences: lists of ids.
        forced: sources of forced steps, (64, S).
        translate: a function of a kind and batches of sentences to lists of ids, batch by batch.
        steps: a function of sources that makes so many steps.
        kinds: what it can do.
        counts: from the size of batches to the number of sentences, evenly taken from all.
    """

    def work():
        figures = {}
        for kind in kinds:
            for size, count in counts.items():
                some = range(0, len(sentences), len(sentences) // count)[:count]
                order = sorted(some, key=lambda i: -len(sentences[i])) if size > 1 else list(some)
                indices = [order[i : i + size] for i in range(0, count, size)]
                batches = [[sentences[i] for i in batch] for batch in indices]
                found, seconds = timed(partial(translate, kind), batches)
                texts = {
                    i: row
                    for batch, rows in zip(indices, found, strict=True)
                    for i, row in zip(batch, rows, strict=True)
                }
                figures[describe(kind, size)] = {"rate": count / seconds, "found": texts}
        if steps is not None:
            for size in SENTENCES:
                seconds = []
                for _ in range(3):
                    began = time.perf_counter()
                    steps(forced[:size])
                    seconds.append(time.perf_counter() - began)
                rate = size * STEPS / float(np.median(seconds))
                figures[describe(FORCED, size)] = {"rate": rate}
        return figures

    return work


def ours(file, run):
    """Our `Translator`'s decoders: plain graphs, two batches side by side."""
    import tensorflow as tf

    from keras_transformer.decoding import greedy
    from keras_transformer.tasks import Translator
    from keras_transformer.text import START

    sentences, forced = read_ids(file)
    translators = {
        GREEDY: Translator.load(run),
        BEAMS: Translator.load(run, beam_size=BEAM, alpha=0.0),
    }

    def translate(kind, batches):
        decode = translators[kind].decode

        def one(batch):
            return [until_end(row) for row in decode(pad(batch))[0][:, 0].numpy()]

        return side_by_side(one, batches, translators[kind].workers)

    model = translators[GREEDY].model

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
    def steps(source):
        start = tf.fill([tf.shape(source)[0]], START)
        step = model.make_step(overwrite=True)
        state, more = model.start(source), model.enlarge
        return greedy(step, state, start, STEPS, end_id=-1, shrink=True, enlarge=more)

    return measure(sentences, forced, translate, steps)


def ours_compiled(file, run):
    """Our `Translator`'s decoders, compiled by XLA for a few shapes, two batches side by side."""
    import tensorflow as tf

    from keras_transformer.decoding import greedy
    from keras_transformer.export.compiled import Compiled
    from keras_transformer.tasks import Translator
    from keras_transformer.text import START

    sentences, forced = read_ids(file)
    translator = Translator.load(run, compiled=True)

    def one(batch):
        return [until_end(ids) for ids, _ in translator.compiled(batch)]

    def translate(kind, batches):
        return side_by_side(one, batches, translator.workers)

    def forced_steps(source):
        model, start = translator.model, tf.fill([source.shape[0]], START)
        return greedy(model.step, model.start(source, STEPS), start, STEPS, end_id=-1)[:1]

    code = {
        size: Compiled(forced_steps, [tf.TensorSpec((size, STEPS_SOURCE), tf.int32)])
        for size in SENTENCES
    }

    def steps(source):
        code[len(source)](tf.constant(source))[0].numpy()

    return measure(sentences, forced, translate, steps, (GREEDY,))


def ours_saved(file, saved):
    """Our exported SavedModel, without Keras; its threads are set as a server's would be."""
    import tensorflow as tf

    set_threads(2)
    sentences, forced = read_ids(file)
    signatures = tf.saved_model.load(saved).signatures
    functions = {GREEDY: signatures["beam_1"], BEAMS: signatures[f"beam_{BEAM}"]}

    def translate(kind, batches):
        def one(batch):
            found = functions[kind](source=tf.constant(pad(batch)))["ids"]
            return [until_end(row) for row in found.numpy()]

        return side_by_side(one, batches, 2)

    return measure(sentences, forced, translate, None)


def set_threads(workers):
    """TensorFlow's threads: one for each of two workers, or two for all operations of one."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(2 // workers)
    tf.config.threading.set_inter_op_parallelism_threads(2)


def keras_hub(file, run, xla, workers):
    """KerasHub's layers, cache and sampler; with XLA, lengths are multiples of eight.

    Its beams are left out: they go on after their end token, which is another search.
    """
    import tensorflow as tf

    set_threads(workers)
    from benchmarks.peers.keras_hub_decoding import KerasHubTranslation
    from keras_transformer.tasks import RunFolder

    sentences, forced = read_ids(file)
    translation = KerasHubTranslation(RunFolder(run).load_model())
    # Of these sentences no translation is longer; a longer room costs it time.
    decode = translation.function(ROOM, xla)
    forced_steps = translation.function(STEPS, xla, stop=False)

    def translate(kind, batches):
        return in_few_shapes(decode, batches, 8 if xla else 1, workers)

    return measure(
        sentences,
        forced,
        translate,
        lambda x: forced_steps(tf.constant(x)).numpy(),
        (GREEDY,),
    )


def keras_hub_tutorial(file, run, xla, workers):
    """As KerasHub's tutorial does it: the whole model, encoder included, for every token."""
    set_threads(workers)
    from benchmarks.peers.keras_hub_decoding import KerasHubTranslation
    from keras_transformer.tasks import RunFolder

    sentences, forced = read_ids(file)
    decode = KerasHubTranslation(RunFolder(run).load_model()).tutorial_function(ROOM, xla)

    def translate(kind, batches):
        return in_few_shapes(decode, batches, ROOM, workers)

    return measure(sentences, forced, translate, None, (GREEDY,), A_FEW)


def in_few_shapes(decode, batches, multiple, workers):
    """Translates with lengths that are multiples, and batches that are all of one size."""
    import tensorflow as tf

    def one(batch):
        full = batch + [batch[-1]] * (len(batches[0]) - len(batch))
        rows = decode(tf.constant(pad(full, multiple))).numpy()
        return [until_end(row[1:]) for row in rows[: len(batch)]]

    return side_by_side(one, batches, workers)


def pytorch(file, weights, workers):
    """PyTorch's functions with a cache."""
    import torch

    from benchmarks.peers.torch_decoding import TorchTranslation

    torch.set_num_threads(2 // workers)
    sentences, forced = read_ids(file)
    translation = TorchTranslation(*pickle.loads(Path(weights).read_bytes()))

    def translate(kind, batches):
        search = translation.greedy if kind == GREEDY else partial(translation.beam, width=BEAM)

        def one(batch):
            return search(pad(batch), [len(s) + 49 for s in batch])

        return side_by_side(one, batches, workers)

    return measure(
        sentences,
        forced,
        translate,
        lambda source: translation.greedy(source, [STEPS] * len(source), stop=False),
    )


def ctranslate2(file, folder, kind, pool):
    """CTranslate2 with our weights."""
    from benchmarks.peers.ctranslate2_model import translator

    sentences, forced = read_ids(file)
    model = translator(folder, kind, *pool)

    def translate(kind, batches):
        options = {"beam_size": 1 if kind == GREEDY else BEAM, "length_penalty": 0}
        started = [
            model.translate_batch(
                [[str(i) for i in sentence] for sentence in batch], asynchronous=True, **options
            )
            if len(batch) > 1
            else [as_done(model.translate_batch([[str(i) for i in batch[0]]], **options)[0])]
            for batch in batches
        ]
        return [
            [[int(token) for token in result.result().hypotheses[0]] for result in batch]
            for batch in started
        ]

    def steps(source):
        tokens = [[str(i) for i in row] for row in source.tolist()]
        model.translate_batch(
            tokens, beam_size=1, min_decoding_length=STEPS, max_decoding_length=STEPS
        )

    return measure(sentences, forced, translate, steps)


class as_done:
    """A result that is there already, asked for as one that is awaited."""

    def __init__(self, value):
        self.value = value

    def result(self):
        """The value."""
        return self.value


def report_equality(rows):
    """How many translations are ours, by contestant and setting; the translations are left out."""
    own = next(iter(rows.values()))[0]
    all_of = {kind: own[describe(kind, max(SENTENCES))]["found"] for kind in (GREEDY, BEAMS)}
    equal = {}
    for name, of_rounds in rows.items():
        equal[name] = {
            setting: float(
                np.mean(
                    [row == all_of[kind][i] for i, row in of_rounds[0][setting]["found"].items()]
                )
            )
            for kind, setting in ((kind, describe(kind, size)) for kind, size in WORK)
            if "found" in of_rounds[0].get(setting, {})
        }
    for of_rounds in list(rows.values()):
        for figures in of_rounds:
            for setting in figures.values():
                setting.pop("found", None)
    print("\nTranslations equal to ours")
    for name, shares in equal.items():
        print(f"  {name}: " + ", ".join(f"{s} {share:.1%}" for s, share in shares.items()))
    return equal


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder of Multi30k's files")
    parser.add_argument("--run", help="folder of a trained run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", default="build/bench", help="folder for JSON and pictures")
    main(**vars(parser.parse_args()))
