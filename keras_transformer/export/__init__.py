"""From a trained model to files that others can serve without this package."""

from keras_transformer.export.compiled import CompiledGreedy
from keras_transformer.export.translation import Translation

__all__ = ["CompiledGreedy", "Translation"]
