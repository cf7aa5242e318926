"""What the server refuses, with the status that TF Serving would give."""

BAD_REQUEST, NOT_FOUND, TOO_LARGE = 400, 404, 413


class RequestError(Exception):
    """A request that is not answered; goes out as `{"error": message}`."""

    def __init__(self, message, status=BAD_REQUEST):
        super().__init__(message)
        self.message, self.status = message, status
