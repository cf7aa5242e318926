"""A language model that goes on where prompts end, a few tokens at a time."""

import numpy as np
import tensorflow as tf

from keras_transformer.decoding.greedy import choose_likeliest
from keras_transformer.decoding.prompts import penalize_repetition
from keras_transformer.decoding.sampling import check_sampling, drawing
from keras_transformer.decoding.token_by_token import Writing

AT_ONCE = 8  # tokens written before somebody looks at them
MULTIPLE = 32  # of which the lengths of arrays are, so that there are few
NOTHING_ENDS = -1


class Writer:
    """Goes on with prompts, in TensorFlow's graph, with a cache.

    Args:
        model: a `Gpt`.
        tokenizer: with `encode`, `decode`, `start` and `end`.
    """

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer = model, tokenizer
        self.context = model.arguments["max_length"]
        self._write = {}

    def write(self, prompts, **options):
        """The whole texts that follow the prompts, a list; see `stream`."""
        texts = [""] * len(prompts)
        for parts in self.stream(prompts, **options):
            texts = [text + part for text, part in zip(texts, parts, strict=True)]
        return texts

    def stream(
        self,
        prompts,
        max_tokens=200,
        temperature=1.0,
        top_k=None,
        top_p=None,
        repetition_penalty=1.0,
        seed=0,
        stop=(),
        say=lambda text: None,
    ):
        """What follows the prompts, as it is written.

        Args:
            prompts: strings; an empty one begins with the start token.
            max_tokens: how many tokens are written at most.
            temperature: see `decoding.sample`; None for greedy decoding.
            top_k: likewise.
            top_p: likewise.
            repetition_penalty: see `penalize_repetition`.
            seed: of what is drawn: the same gives the same.
            stop: texts before which the writing stops.
            say: a function that is told what the user should know.

        Yields:
            Lists of strings, to be added to the texts of each prompt.
        """
        if temperature is not None:
            check_sampling(temperature, top_k, top_p)
        if repetition_penalty <= 0:
            raise ValueError(
                "`repetition_penalty` must be positive. Received: "
                f"repetition_penalty={repetition_penalty}"
            )
        if max_tokens < 1:
            raise ValueError(f"`max_tokens` must be at least 1. Received: max_tokens={max_tokens}")
        rows = [self.tokenizer.encode(prompt) or [self.tokenizer.start] for prompt in prompts]
        if any(len(row) > self.context for row in rows):
            say(f"A prompt is longer than {self.context} tokens: only its end is read")
        texts = [Text(self.tokenizer, stop) for _ in rows]
        write = self._writing(temperature, top_k, top_p, repetition_penalty)
        written, lengths, state = 0, self._window(rows, self.context), None
        while written < max_tokens and not all(text.ended for text in texts):
            room = self.context + 1 - max(lengths)  # the last token need not be read
            if room < 1:
                lengths, state = self._window(rows, self.context // 2), None
                continue
            if state is None:
                state = self._read([row[-n:] for row, n in zip(rows, lengths, strict=True)])
            count = min(AT_ONCE, max_tokens - written, room)
            last = [row[-1] for row in rows]
            offset = [length - 1 for length in lengths]
            if len(set(offset)) == 1:
                offset = offset[0]  # writing to the same place in all rows is cheaper
            seen = None if repetition_penalty == 1 else padded(map(set, rows), -1)
            ids, state = write(last, offset, count, written, seed, seen, state)
            new = ids.numpy()[:, :count].tolist()
            for row, of_row in zip(rows, new, strict=True):
                row.extend(of_row)
            written, lengths = written + count, [length + count for length in lengths]
            yield [text.add(of_row) for text, of_row in zip(texts, new, strict=True)]
        yield [text.rest() for text in texts]

    def _window(self, rows, longest):
        """How many of the last tokens of each row are read."""
        return [min(len(row), longest) for row in rows]

    def _read(self, rows):
        """The state after all tokens but the last; behind the end of a row it is overwritten."""
        return self._read_graph(tf.constant(padded(rows, 0)[:, : self.context]))

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
    def _read_graph(self, ids):
        _, state = self.model.step(ids, 0, self.model.start(tf.shape(ids)[0], self.context))
        return state

    def _writing(self, *kind):
        """A function that writes a few tokens, traced once for each kind of drawing."""

        def write(last, offset, *numbers):
            *numbers, seen, state = numbers
            key = (*kind, np.ndim(offset))  # a graph has one or the other
            if key not in self._write:
                self._write[key] = tf.function(
                    lambda *inputs: self._write_graph(kind, *inputs), reduce_retracing=True
                )
            numbers = [tf.constant(number, tf.int32) for number in (last, offset, *numbers)]
            return self._write[key](*numbers, None if seen is None else tf.constant(seen), state)

        return write

    def _write_graph(self, kind, last, offset, count, first, seed, seen, state):
        temperature, top_k, top_p, penalty = kind
        step = self.model.make_step()

        def step_from_there(ids, position, state):
            return step(ids, offset + position, state)

        def noise(position):
            return tf.random.stateless_uniform(tf.shape(last), tf.stack([seed, first + position]))

        if temperature is None:
            choose = choose_likeliest
        else:
            choose = drawing(noise, temperature, top_k, top_p)
        begin = state
        if seen is not None:
            vocab_size = self.tokenizer.vocab_size
            step_from_there, begin = penalize_repetition(
                step_from_there, state, seen, None, vocab_size, penalty
            )
        # Ends are looked for outside: rows in which there was one are written on, for nobody.
        writing = Writing(choose, step_from_there, AT_ONCE, NOTHING_ENDS)
        limits = tf.fill(tf.shape(last), count)
        *_, written, _, state = writing.go_on(writing.begin(begin, last, limits))
        return written, state["state"] if seen is not None else state


class Text:
    """What follows one prompt, as it grows.

    Args:
        tokenizer: with `decode` and `end`.
        stop: texts before which it ends.
    """

    def __init__(self, tokenizer, stop):
        self.tokenizer, self.stop = tokenizer, tuple(stop)
        self.ids, self.shown, self.ended = [], 0, False
        self.text = ""

    def add(self, ids):
        """The new part of the text, as far as it cannot change any more."""
        if self.ended:
            return ""
        self.ids += ids
        self.text = self.tokenizer.decode(self.ids)
        self.ended = self.tokenizer.end in self.ids
        places = [place for text in self.stop if (place := self.text.find(text)) >= 0]
        if places:
            self.text, self.ended = self.text[: min(places)], True
        return self._show(len(self.text) if self.ended else self._certain())

    def rest(self):
        """What was held back."""
        return self._show(len(self.text))

    def _certain(self):
        """How much of the text will stay: not half a character, nor what may begin a stop."""
        text = self.text.rstrip("\ufffd")
        held = max((len(stop) - 1 for stop in self.stop), default=0)
        for size in range(min(held, len(text)), 0, -1):
            if any(stop.startswith(text[-size:]) for stop in self.stop):
                return len(text) - size
        return len(text)

    def _show(self, end):
        part, self.shown = self.text[self.shown : end], max(self.shown, end)
        return part


def padded(rows, filling):
    """Rows of ids as one array, filled up."""
    rows = [list(row) for row in rows]
    width = -(-max(map(len, rows)) // MULTIPLE) * MULTIPLE
    return np.array([row + [filling] * (width - len(row)) for row in rows], "int32")
