"""Translating Multi30k's 1,000 test sentences: sentences a second, ours and others', same weights.

    python -m benchmarks.decode_speed DATA --run runs/ende
    python -m benchmarks.decode_speed DATA      # trains a model for a quarter of an hour first

All have the same weights and get the same ids; what is timed is from ids to ids. Batches of 64 and
of 8 are sorted by length; one at a time means one after the other. Contestants come with several
thread settings, and of each the best counts, setting by setting. "39 steps" are that many tokens
after a source of 16, whatever they are: no sentence ends. Beams have no length penalty.
"""

import argparse
import json
import pickle
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.contest import Contestant, compete
from benchmarks.multi30k_data import multi30k_files, multi30k_settings
from benchmarks.report import draw_bars, print_table, ratio, spread, verdict, write_json

BEAM = 5
ROOM = 48  # for translations of these sentences, where a contestant needs to know
STEPS, STEPS_SOURCE = 39, 16
GREEDY, BEAMS, FORCED = "greedy", f"beam {BEAM}", f"{STEPS} steps"
# Of how many sentences, so that no contestant takes minutes; and of how many for slow ones.
SENTENCES = {64: 1000, 8: 200, 1: 200}
A_FEW = {64: 128, 8: 24, 1: 10}
WORK = [(kind, batch) for kind in (GREEDY, BEAMS, FORCED) for batch in SENTENCES]
OURS = "ours"


def main(data, run, rounds, out):
    """Measures and reports."""
    run = run or train_for_a_while(data, Path(out) / "run")
    with tempfile.TemporaryDirectory() as folder:
        files = prepare(Path(folder), data, run)
        takes_part = contestants(run, files)
        rows = compete(takes_part, rounds)
    groups = {}
    for kind, batch in WORK:
        setting = describe(kind, batch)
        speeds = {}
        for family in dict.fromkeys(family_of(name) for name in rows):
            measured = [
                [figures[setting]["rate"] for figures in of_rounds]
                for name, of_rounds in rows.items()
                if family_of(name) == family and setting in of_rounds[0]
            ]
            if measured:
                speeds[family] = max(measured, key=lambda values: spread(values)["median"])
        groups[setting] = speeds
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
    for intra, inter in ((1, 1), (2, 2)):
        threads = f"{intra} thread(s) an op, {inter} op(s) at a time"
        arguments = {**common, "run": str(run), "threads": (intra, inter)}
        for xla in (False, True):
            name = f"KerasHub with cache, {'XLA' if xla else 'graph'} [{intra} {inter}]"
            found.append(Contestant(name, keras_hub, {**arguments, "xla": xla}, threads))
    for xla in (False, True):
        name = f"KerasHub's tutorial, {'XLA' if xla else 'graph'} [2 2]"
        arguments = {**common, "run": str(run), "threads": (2, 2), "xla": xla}
        found.append(Contestant(name, keras_hub_tutorial, arguments, threads))
    for threads in (1, 2):
        found.append(
            Contestant(
                f"PyTorch with cache [{threads}]",
                pytorch,
                {**common, "weights": files["torch"], "threads": threads},
                f"{threads} thread(s)",
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
    return found


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
                # While others had their turn, caches got cold and memory may have been taken away.
                translate(kind, batches[: -(-len(batches) // 5)])
                began = time.perf_counter()
                found = translate(kind, batches)
                seconds = time.perf_counter() - began
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
    from concurrent.futures import ThreadPoolExecutor

    import tensorflow as tf

    from keras_transformer.decoding import greedy
    from keras_transformer.tasks import Translator
    from keras_transformer.text import START

    sentences, forced = read_ids(file)
    translators = {
        GREEDY: Translator.load(run),
        BEAMS: Translator.load(run, beam_size=BEAM, alpha=0.0),
    }
    pool = ThreadPoolExecutor(translators[GREEDY].workers)

    def translate(kind, batches):
        decode = translators[kind].decode

        def one(batch):
            return [until_end(row) for row in decode(pad(batch))[0][:, 0].numpy()]

        alone = len(batches[0]) == 1
        return list(map(one, batches) if alone else pool.map(one, batches))

    model = translators[GREEDY].model

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
    def steps(source):
        start = tf.fill([tf.shape(source)[0]], START)
        step = model.make_step()
        return greedy(step, model.start(source), start, STEPS, end_id=-1, shrink=True)

    return measure(sentences, forced, translate, steps)


def ours_compiled(file, run):
    """Our `Translator`'s decoders, compiled by XLA for a few shapes, two batches side by side."""
    from concurrent.futures import ThreadPoolExecutor

    import tensorflow as tf

    from keras_transformer.decoding import greedy
    from keras_transformer.layers.tensorflow_ops import for_xla
    from keras_transformer.tasks import Translator
    from keras_transformer.text import START

    sentences, forced = read_ids(file)
    translator = Translator.load(run, compiled=True)
    pool = ThreadPoolExecutor(translator.workers)

    def one(batch):
        return [until_end(ids) for ids, _ in translator.compiled(batch)]

    def translate(kind, batches):
        alone = len(batches[0]) == 1
        return list(map(one, batches) if alone else pool.map(one, batches))

    @tf.function(jit_compile=True)
    def forced_steps(source):
        model, start = translator.model, tf.fill([source.shape[0]], START)
        with for_xla():
            return greedy(model.step, model.start(source, STEPS), start, STEPS, end_id=-1)[0]

    def steps(source):
        forced_steps(tf.constant(source)).numpy()

    return measure(sentences, forced, translate, steps, (GREEDY,))


def ours_saved(file, saved):
    """Our exported SavedModel, without Keras; its threads are set as a server's would be."""
    from concurrent.futures import ThreadPoolExecutor

    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(2)
    sentences, forced = read_ids(file)
    signatures = tf.saved_model.load(saved).signatures
    functions = {GREEDY: signatures["beam_1"], BEAMS: signatures[f"beam_{BEAM}"]}
    pool = ThreadPoolExecutor(2)

    def translate(kind, batches):
        def one(batch):
            found = functions[kind](source=tf.constant(pad(batch)))["ids"]
            return [until_end(row) for row in found.numpy()]

        alone = len(batches[0]) == 1
        return list(map(one, batches) if alone else pool.map(one, batches))

    return measure(sentences, forced, translate, None)


def keras_hub(file, run, xla, threads):
    """KerasHub's layers, cache and sampler; with XLA, lengths are multiples of eight.

    Its beams are left out: they go on after their end token, which is another search.
    """
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads[0])
    tf.config.threading.set_inter_op_parallelism_threads(threads[1])
    from benchmarks.peers.keras_hub_decoding import KerasHubTranslation
    from keras_transformer.tasks import RunFolder

    sentences, forced = read_ids(file)
    translation = KerasHubTranslation(RunFolder(run).load_model())
    # Of these sentences no translation is longer; a longer room costs it time.
    decode = translation.function(ROOM, xla)
    forced_steps = translation.function(STEPS, xla, stop=False)

    def translate(kind, batches):
        return in_few_shapes(decode, batches, 8 if xla else 1)

    return measure(
        sentences,
        forced,
        translate,
        lambda x: forced_steps(tf.constant(x)).numpy(),
        (GREEDY,),
    )


def keras_hub_tutorial(file, run, xla, threads):
    """As KerasHub's tutorial does it: the whole model, encoder included, for every token."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads[0])
    tf.config.threading.set_inter_op_parallelism_threads(threads[1])
    from benchmarks.peers.keras_hub_decoding import KerasHubTranslation
    from keras_transformer.tasks import RunFolder

    sentences, forced = read_ids(file)
    decode = KerasHubTranslation(RunFolder(run).load_model()).tutorial_function(ROOM, xla)

    def translate(kind, batches):
        return in_few_shapes(decode, batches, ROOM)

    return measure(sentences, forced, translate, None, (GREEDY,), A_FEW)


def in_few_shapes(decode, batches, multiple):
    """Translates with lengths that are multiples, and batches that are all of one size."""
    import tensorflow as tf

    found = []
    for batch in batches:
        full = batch + [batch[-1]] * (len(batches[0]) - len(batch))
        rows = decode(tf.constant(pad(full, multiple))).numpy()
        found.append([until_end(row[1:]) for row in rows[: len(batch)]])
    return found


def pytorch(file, weights, threads):
    """PyTorch's functions with a cache."""
    import torch

    from benchmarks.peers.torch_decoding import TorchTranslation

    torch.set_num_threads(threads)
    sentences, forced = read_ids(file)
    translation = TorchTranslation(*pickle.loads(Path(weights).read_bytes()))

    def translate(kind, batches):
        search = translation.greedy if kind == GREEDY else partial(translation.beam, width=BEAM)
        return [search(pad(batch), [len(s) + 49 for s in batch]) for batch in batches]

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
