"""A language model that goes on where prompts end, a few tokens at a time."""

from keras_transformer.tasks.guess_ahead import GuessAhead
from keras_transformer.tasks.token_by_token import TokenByToken, padded
from keras_transformer.tasks.written_text import WrittenText

# Tokens written at a time: where somebody looks on, and where only the whole text counts.
AT_ONCE, AT_ONCE_UNSEEN = 8, 32


class Writer:
    """Goes on with prompts, in TensorFlow's graph, with a cache.

    Each text is that which its prompt has alone. When a row has filled the model's context, the
    newer half of it is read once more, and there is room again.

    Args:
        model: a `Gpt`.
        tokenizer: with `encode`, `decode`, `start` and `end`.
        draft: a smaller `Gpt` that guesses ahead, see `GuessAhead`; for greedy decoding.
        guesses: how many tokens at a time.
    """

    def __init__(self, model, tokenizer, draft=None, guesses=4):
        self.model, self.tokenizer = model, tokenizer
        self.draft, self.guesses = draft, guesses
        self.context = model.arguments["max_length"]
        self._ways = {}

    def write(self, prompts, **options):
        """The whole texts that follow the prompts, a list; see `stream`."""
        texts = [""] * len(prompts)
        for parts in self.stream(prompts, **{"at_once": AT_ONCE_UNSEEN, **options}):
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
        at_once=AT_ONCE,
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
            at_once: how many tokens are written at a time.

        Yields:
            Lists of strings, to be added to the texts of each prompt.
        """
        if max_tokens < 1:
            raise ValueError(f"`max_tokens` must be at least 1. Received: max_tokens={max_tokens}")
        way = self.way(temperature, top_k, top_p, repetition_penalty, at_once)
        rows = [self.tokenizer.encode(prompt) or [self.tokenizer.start] for prompt in prompts]
        if any(len(row) > self.context for row in rows):
            say(f"A prompt is longer than {self.context} tokens: only its end is read")
        texts = [WrittenText(self.tokenizer, stop) for _ in rows]
        left = [max_tokens] * len(rows)
        seen, state = [min(len(row), self.context) for row in rows], None
        while any(n and not text.ended for n, text in zip(left, texts, strict=True)):
            room = self.context + 1 - max(seen)  # the last token need not be read
            if room < 1:
                seen, state = [self._slide(n) for n in seen], None
                continue
            if state is None:
                windows = [row[-n:] for row, n in zip(rows, seen, strict=True)]
                state = way.read(padded(windows, 0)[:, : self.context])
            count, offset = min(at_once, max(left), room), [n - 1 for n in seen]
            new, state = way.go_on(rows, offset, count, max_tokens - max(left), seed, state)
            for row, ids in zip(rows, new, strict=True):
                row.extend(ids)
            seen = [n + len(ids) for n, ids in zip(seen, new, strict=True)]
            new = [ids[:n] for ids, n in zip(new, left, strict=True)]
            left = [n - len(ids) for n, ids in zip(left, new, strict=True)]
            yield [text.add(ids) for text, ids in zip(texts, new, strict=True)]
        yield [text.rest() for text in texts]

    def describe_guesses(self):
        """How well the draft has guessed so far, in a sentence."""
        ways = self._ways.values()
        written, looks = (sum(getattr(way, name) for way in ways) for name in ("written", "looks"))
        right = (written - looks) / max(looks * self.guesses, 1)
        return (
            f"{right:.0%} of the draft's guesses were right: "
            f"{written / max(looks, 1):.1f} tokens for each step of the model"
        )

    def way(self, temperature, top_k, top_p, repetition_penalty, at_once=AT_ONCE_UNSEEN):
        """What writes the tokens: a `TokenByToken`, or a `GuessAhead` if there is a draft."""
        kind = (temperature, top_k, top_p, repetition_penalty)
        if self.draft is not None and (temperature is not None or repetition_penalty != 1):
            raise ValueError(
                "A draft guesses what is likeliest: it is for greedy decoding without a penalty. "
                f"Received: temperature={temperature}, repetition_penalty={repetition_penalty}"
            )
        if (kind, at_once) not in self._ways:
            way = TokenByToken(self.model, *kind, at_once)
            if self.draft is not None:
                way = GuessAhead(way, self.draft, self.guesses)
            self._ways[kind, at_once] = way
        return self._ways[kind, at_once]

    def _slide(self, seen):
        """How many of a row's last tokens are read when the context of some row is full."""
        return max(self.context // 2, 1) if seen > self.context else seen
