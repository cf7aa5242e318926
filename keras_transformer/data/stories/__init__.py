"""Short stories with questions and summaries, generated: who went where, who has what."""

from keras_transformer.data.stories.corpus import stories

__all__ = ["stories"]
