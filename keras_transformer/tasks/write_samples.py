"""Some text of a language model's after every epoch: numbers do not say what it has learned."""

import keras

from keras_transformer.tasks.writer import Writer

TOKENS = 200


class WriteSamples(keras.callbacks.Callback):
    """Writes a text after every epoch, with the same seed each time, and logs it.

    Args:
        model: the `Gpt` that is trained.
        tokenizer: its tokenizer.
        prompt: what the text begins with.
        log: a `Log`.
        workers: the `Workers`, of whom the chief writes.
    """

    def __init__(self, model, tokenizer, prompt, log, workers):
        super().__init__()
        self.writer, self.prompt = Writer(model, tokenizer), prompt
        self.log, self.workers = log, workers

    def on_epoch_end(self, epoch, logs=None):
        self.log.say(self.workers.share(self.text))

    def text(self):
        """The text, each line of it marked as such."""
        (written,) = self.writer.write([self.prompt], max_tokens=TOKENS, seed=0)
        return "\n".join(f"| {line}" for line in (self.prompt + written).split("\n"))
