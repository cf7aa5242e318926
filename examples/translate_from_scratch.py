"""Stacks an encoder-decoder by hand, trains it on English-French sentences and translates.

    python examples/translate_from_scratch.py

    our farmer will not take this biscuit    notre fermier ne prendra pas ce biscuit

Everything the command line does, in one file: a vocabulary, batches of few shapes, layers stacked
in a functional model, `model.fit`, and greedy decoding with a cache. The settings are those of
`make demo`; on two cores it took six minutes and translated 99.2 % of unseen sentences exactly.
"""

import argparse

import keras
import numpy as np

from keras_transformer import DecoderBlock, EncoderBlock, PositionalEmbedding, padding_mask
from keras_transformer.data import Batches, phrases
from keras_transformer.decoding import greedy
from keras_transformer.text import END, START, Tokenizer
from keras_transformer.training import InverseSquareRoot, SmoothedCrossentropy, TokenAccuracy

DIM, NUM_HEADS, FFN_DIM, NUM_LAYERS = 128, 4, 256, 2
LONGEST = 50


class Stack:
    """The layers, and the two ways through them: all at once to train, step by step to decode."""

    def __init__(self, vocab_size):
        self.embedding = PositionalEmbedding(vocab_size, DIM, max_length=LONGEST)
        self.encoder = [EncoderBlock(DIM, NUM_HEADS, FFN_DIM) for _ in range(NUM_LAYERS)]
        self.decoder = [DecoderBlock(DIM, NUM_HEADS, FFN_DIM) for _ in range(NUM_LAYERS)]

    def encode(self, source):
        memory = self.embedding(source)
        for block in self.encoder:
            memory = block(memory)
        return memory

    def model(self):
        """A functional model for `fit`."""
        source = keras.Input((None,), dtype="int32", name="source")
        target = keras.Input((None,), dtype="int32", name="target")
        memory = self.encode(source)
        x = self.embedding(target)
        for block in self.decoder:
            x = block(x, memory)
        logits = self.embedding(x, reverse=True)
        return keras.Model({"source": source, "target": target}, logits)

    def start(self, source, length):
        """The cache of every decoder block, before the first token."""
        memory, mask = self.encode(source), padding_mask(source)
        return [block.start(len(source), length, memory, mask) for block in self.decoder]

    def step(self, ids, position, caches):
        """The logits after one more token."""
        x = self.embedding(ids, start=position)
        new = []
        for block, cache in zip(self.decoder, caches, strict=True):
            x, cache = block.step(x, position, cache)
            new.append(cache)
        return self.embedding(x, reverse=True), new


def translate(stack, tokenizer, sentences):
    """Greedy decoding of all sentences in one batch."""
    ids = [[*tokens, END] for tokens in tokenizer.encode(sentences)]
    source = np.zeros((len(ids), max(map(len, ids))), "int32")
    for row, tokens in zip(source, ids, strict=True):
        row[: len(tokens)] = tokens
    start = np.full(len(source), START)
    written, _ = greedy(stack.step, stack.start(source, LONGEST), start, LONGEST, END)
    return tokenizer.decode(np.array(written).tolist())


def main(steps=1100):
    keras.utils.set_random_seed(0)
    train, held_out = phrases()
    tokenizer = Tokenizer.learn([text for pair in train for text in pair], vocab_size=1000)
    pairs = [tuple(tokenizer.encode(list(pair))) for pair in train]
    batches = Batches(pairs, batch_tokens=2048, max_length=LONGEST)
    print(f"{len(batches.shapes)} batch shapes, {batches.padding:.1%} padding")

    stack = Stack(tokenizer.vocab_size)
    model = stack.model()
    model.compile(
        keras.optimizers.Adam(InverseSquareRoot(3e-3, warmup_steps=400), beta_2=0.98),
        SmoothedCrossentropy(0.1),
        weighted_metrics=[TokenAccuracy()],
        jit_compile=False,  # compiling every shape takes longer here than it saves
    )
    model.fit(batches.dataset(), steps_per_epoch=steps, shuffle=False)

    sources, references = map(list, zip(*held_out, strict=True))
    translations = translate(stack, tokenizer, sources)
    for source, translation in list(zip(sources, translations, strict=True))[:5]:
        print(f"  {source:45} {translation}")
    same = np.mean([t == r for t, r in zip(translations, references, strict=True)])
    print(f"Exact match on {len(held_out):,} sentences of unseen combinations: {same:.1%}")
    return same


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1100, help="training steps (%(default)s)")
    main(**vars(parser.parse_args()))
