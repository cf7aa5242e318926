"""A text as it is written: what of it can be shown already."""


class WrittenText:
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
