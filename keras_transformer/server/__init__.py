"""A server for trying out an exported model: TF Serving's REST interface, without TF Serving."""

from keras_transformer.server.app import serve

__all__ = ["serve"]
