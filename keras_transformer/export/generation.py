"""Writing as graph functions: a prompt in, what follows it out, nothing in between but ops.

On the host, `tasks.Writer` does the same; the tests compare them.
"""

import tensorflow as tf
from keras import ops

from keras_transformer.decoding import greedy, read_prompts
from keras_transformer.decoding.greedy import choose_likeliest
from keras_transformer.decoding.sampling import drawing
from keras_transformer.decoding.token_by_token import write_tokens

NOTHING_ENDS = -1
SMALLEST = 1e-4  # temperature and share of probability: with less, it is the likeliest anyway


class Generation:
    """What a language model can be asked, as functions for a TensorFlow graph.

    A text depends on its own prompt alone, not on what a server answers together with it. Prompts
    of any length are gone on with for any length: when a row has filled the model's context, the
    newer half of it is read once more.

    Args:
        model: a `Gpt`.
        tokenizer: its tokenizer.
        max_tokens: how many tokens are written at most.
    """

    def __init__(self, model, tokenizer, max_tokens=200):
        if max_tokens < 1:
            raise ValueError(f"`max_tokens` must be at least 1. Received: max_tokens={max_tokens}")
        self.model, self.tokenizer, self.max_tokens = model, tokenizer, max_tokens
        self.context = model.get_config()["max_length"]
        self.end = NOTHING_ENDS if tokenizer.end is None else tokenizer.end

    @property
    def longest_prompt(self):
        """How many tokens there may be before those that are written, all within the context."""
        return self.context + 1 - self.max_tokens  # the last token need not be read

    def generate(self, text):
        """Text (B,) to what follows it, always the likeliest token, and how likely that is.

        The score is the logarithm of the probability of what was written.
        """
        ids, lengths = self._prompts(text)
        limits = tf.fill(tf.shape(lengths), self.max_tokens)
        return self._texts(tf.shape(text)[0], *self.write(ids, lengths, limits, choose_likeliest))

    def sample(self, text, temperature, top_p, seed, max_tokens):
        """Text (B,) to what follows it, drawn as (B,) options say, each row by its own.

        The same seed gives the same, whatever else is in the batch. Temperature 0 is greedy; no row
        gets more than the `max_tokens` of all.
        """
        ids, lengths = self._prompts(text)
        more = tf.shape(ids)[0] - tf.shape(text)[0]  # a row, if there was none
        temperature, top_p, seed, max_tokens = (
            tf.pad(x, [[0, more]]) for x in (temperature, top_p, seed, max_tokens)
        )
        uniforms = tf.map_fn(
            lambda seed: tf.random.stateless_uniform([self.max_tokens], tf.stack([seed, 0])),
            seed,
            fn_output_signature=tf.TensorSpec([self.max_tokens], tf.float32),
        )
        choose = drawing(
            lambda position: uniforms[:, position],
            tf.maximum(temperature, SMALLEST)[:, None],
            top_p=tf.clip_by_value(top_p, SMALLEST, 1.0)[:, None],
        )
        limits = tf.clip_by_value(max_tokens, 0, self.max_tokens)
        return self._texts(tf.shape(text)[0], *self.write(ids, lengths, limits, choose))

    def tokenize(self, text):
        """Text (B,) to ids (B, T) and how many of each row there are."""
        ids = self.tokenizer.tokenize(text)
        return {"ids": ids.to_tensor(), "lengths": tf.cast(ids.row_lengths(), tf.int32)}

    def logits(self, token_ids):
        """Logits (B, T, V) after each token."""
        return {"logits": tf.cast(self.model({"token_ids": token_ids}), tf.float32)}

    def generate_ids(self, token_ids, lengths):
        """Ids (B, P), so many of each row, at most `longest_prompt`, to those that follow.

        For devices: tensors keep their shapes in all steps. What is after a row's length does not
        matter; what is written after an end token is 0.
        """
        state = self.model.start(ops.shape(token_ids)[0], self.context)
        step, state, last = read_prompts(self.model.make_step(), state, token_ids, lengths)
        ids, scores = greedy(step, state, last, self.max_tokens, self.end)
        return {"ids": ids, "score": scores}

    def write(self, ids, lengths, limits, choose):
        """What follows prompts.

        Args:
            ids: (B, P), anything after a row's end.
            lengths: (B,), of the prompts, at least 1.
            limits: (B,), how many tokens may follow.
            choose: see `write_tokens`; it gets the number of the token that is written.

        Returns:
            Ids (B, max_tokens); how many of each row there are, (B,), the end token included; and
            the sums of their log-probabilities, (B,).
        """
        begin, most = lengths, self.max_tokens
        batch_size = tf.shape(ids)[0]
        texts = tf.pad(ids, [[0, 0], [0, most]])
        columns = tf.range(tf.shape(texts)[1])[None]
        step, go_on = self.model.step, self.model.make_step(overwrite=True)

        def is_unfinished(done, running, *_):
            return (done < most) & tf.reduce_any(running)

        def fill_context(done, running, lengths, seen, texts, scores):
            """Reads what each row sees of its text, and writes until the fullest one is full."""
            seen = tf.where(seen > self.context, max(self.context // 2, 1), seen)
            longest = tf.reduce_max(seen)
            count = tf.minimum(self.context + 1 - longest, most - done)
            places = tf.range(longest)[None] + (lengths - seen)[:, None]
            windows = tf.gather(texts, tf.minimum(places, tf.shape(texts)[1] - 1), batch_dims=1)
            state = self.model.start(batch_size, longest + count - 1)
            from_there, state, last = read_prompts(step, state, windows, seen, go_on)
            left = tf.where(running, limits - done, 0)
            new, new_scores = write_tokens(
                lambda logits, position: choose(logits, done + position),
                from_there,
                state,
                last,
                count,
                self.end,
                limits=left,
            )
            ends = tf.cast(new == self.end, tf.int32)
            real = tf.cumsum(ends, axis=1, exclusive=True) == 0
            real &= tf.range(count)[None] < left[:, None]
            added = tf.reduce_sum(tf.cast(real, tf.int32), axis=1)
            place = columns - lengths[:, None]
            here = (place >= 0) & (place < added[:, None])
            new_there = tf.gather(new, tf.clip_by_value(place, 0, count - 1), batch_dims=1)
            texts = tf.where(here, new_there, texts)
            running &= ~tf.reduce_any(real & (new == self.end), axis=1) & (done + count < limits)
            return done + count, running, lengths + added, seen + added, texts, scores + new_scores

        loop = (
            tf.constant(0),
            limits > 0,
            lengths,
            tf.minimum(lengths, self.context),
            texts,
            tf.zeros_like(lengths, tf.float32),
        )
        _, _, lengths, _, texts, scores = tf.while_loop(is_unfinished, fill_context, loop)
        written = tf.gather(texts, begin[:, None] + tf.range(most)[None], batch_dims=1)
        return written, lengths - begin, scores

    def _prompts(self, text):
        """Ids (B, P) and lengths (B,) of texts: a row at least, and a token in each at least."""
        ids = self.tokenizer.tokenize(text)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        ids = ids.to_tensor(shape=[None, None])
        missing = tf.maximum(1 - tf.shape(ids), 0)
        ids = tf.pad(ids, [[0, missing[0]], [0, missing[1]]])
        lengths = tf.pad(lengths, [[0, missing[0]]])
        ids = tf.where((lengths == 0)[:, None], self.tokenizer.start, ids)
        return ids, tf.maximum(lengths, 1)

    def _texts(self, rows, ids, lengths, scores):
        """The answer about so many rows."""
        real = tf.range(self.max_tokens)[None] < lengths[:, None]
        written = tf.ragged.boolean_mask(ids, real & (ids != self.end))
        return {
            "continuation": self.tokenizer.detokenize(written)[:rows],
            "score": scores[:rows],
        }
