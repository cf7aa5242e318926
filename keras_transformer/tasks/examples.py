"""Sentences to try an exported model with."""

SAMPLES = 16  # sentences


def of_all_lengths(sentences):
    """Some different ones of the sentences, from the shortest to the longest in even steps."""
    sentences = sorted(set(sentences), key=lambda sentence: (len(sentence), sentence))
    steps = min(SAMPLES, len(sentences))
    return [sentences[i * (len(sentences) - 1) // max(1, steps - 1)] for i in range(steps)]
