"""The web application around a served model."""

import contextlib
import re
import socket
import threading
from pathlib import Path

from keras_transformer.client import RestClient
from keras_transformer.server.errors import NOT_FOUND, TOO_LARGE, RequestError
from keras_transformer.server.predict import predict
from keras_transformer.server.served_model import ServedModel

LARGEST_BODY = 16 * 2**20
NEEDS_EXTRA = (
    "The try-out server needs starlette and uvicorn: "
    "pip install 'keras-transformer-layers[serving]'"
)
MODEL_PATH = re.compile(
    r"/v1/models/(?P<name>[^/:]+)(/versions/(?P<version>\d+))?(?P<what>/metadata|:predict)?"
)


def serve(base, host="127.0.0.1", port=8501, name=None, ask=None, say=print):
    """Serves the newest version of a model until it is interrupted.

    Args:
        base: the folder of the model.
        host: the address to listen on; only this machine unless given.
        port: likewise.
        name: what the model is served as; the folder's name unless given.
        ask: a text to ask the server once; it stops when it has answered.
        say: a function of a line, to report with.

    Returns:
        The answer, if something was asked.
    """
    try:
        import uvicorn
    except ImportError:
        raise ValueError(NEEDS_EXTRA) from None
    base = Path(base)
    if not base.is_dir():
        raise ValueError(f"{base} is not the folder of an exported model")
    model = ServedModel(base, name or base.resolve().name, say)
    # Its own configuration of logging would take everybody else's handlers away.
    config = uvicorn.Config(make_app(model), log_config=None, log_level="warning")
    server = uvicorn.Server(config)
    with listen(host, port) as listener:  # first: a port that is taken should cost no time
        model.start()
        url = f"http://{host}:{listener.getsockname()[1]}/v1/models/{model.name}"
        try:
            if ask is not None:
                return ask_once(server, listener, url, ask)
            say(f"{url} answers; stop with Ctrl-C")
            say(f"This server is for trying out. The real one: docker compose up, in {base}")
            server.run(sockets=[listener])
        finally:
            model.stop()


def listen(host, port):
    """A socket that listens."""
    try:
        return socket.create_server((host, port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(
            f"Cannot listen on {host}:{port}: {reason}; choose another --port"
        ) from None


def ask_once(server, listener, url, text):
    """Runs the server for as long as it takes to ask it one thing."""
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        return RestClient(url).predict({"text": [text]})
    finally:
        server.should_exit = True
        thread.join()


def make_app(model):
    """The application, in which every error is JSON of TF Serving's shape."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def answer(request):
        try:
            return JSONResponse(await handle(request))
        except RequestError as error:
            return JSONResponse({"error": error.message}, error.status)
        except Exception as error:  # the server stays up, whatever a request does
            model.say(f"A request failed: {error!r}")
            return JSONResponse({"error": f"Internal: {type(error).__name__}"}, 500)

    async def handle(request):
        path = MODEL_PATH.fullmatch(request.url.path)
        expected = "POST" if path and path["what"] == ":predict" else "GET"
        if not path or request.method not in (expected, "HEAD" if expected == "GET" else expected):
            raise RequestError(f"Malformed request: {request.method} {request.url.path}")
        version = find(path["name"], path["version"])
        if path["what"] == ":predict":
            body = await read_body(request)
            return await run_in_threadpool(predict, version.signatures, body)
        return model.metadata() if path["what"] else model.status()

    def find(name, number):
        version = model.current
        wanted = f"Specific({name}, {number})" if number else f"Latest({name})"
        if name != model.name or (number and int(number) != version.number):
            raise RequestError(f"Servable not found for request: {wanted}", NOT_FOUND)
        return version

    methods = ["GET", "POST", "PUT", "DELETE", "PATCH"]
    return Starlette(routes=[Route("/{path:path}", answer, methods=methods)])


async def read_body(request):
    """The body of a request, unless it is too large."""
    body = bytearray()
    announced = request.headers.get("content-length", "0")
    with contextlib.suppress(ValueError):
        if int(announced) > LARGEST_BODY:
            raise_too_large()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY:
            raise_too_large()
    return bytes(body)


def raise_too_large():
    """Refuses a body."""
    raise RequestError(f"Request body is larger than {LARGEST_BODY} bytes", TOO_LARGE)
