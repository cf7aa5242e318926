"""BLEU of the validation pairs after every epoch."""

import keras

from keras_transformer.tasks.evaluate import score
from keras_transformer.tasks.translate import Translator


class ValidationBleu(keras.callbacks.Callback):
    """Adds `val_bleu` to an epoch's metrics; must come before the callbacks that read them.

    Args:
        model: the `Transformer` that is trained.
        tokenizers: of source and target.
        pairs: (source, target), sentences.
        tokenize: see `evaluate`.
        workers: the `Workers`, of whom the chief translates.
    """

    def __init__(self, model, tokenizers, pairs, tokenize, workers):
        super().__init__()
        self.workers = workers
        self.translator = Translator(model, tokenizers)
        self.sources, self.references = map(list, zip(*pairs, strict=True))
        self.tokenize = tokenize

    def on_epoch_end(self, epoch, logs=None):
        logs["val_bleu"] = self.workers.share(self.bleu)

    def bleu(self):
        """BLEU of the model as it is now."""
        translations = self.translator(self.sources)
        return score(translations, self.references, self.tokenize)["bleu"]
