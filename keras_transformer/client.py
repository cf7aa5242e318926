"""Asks a model server over REST or gRPC; the module itself is beside the package."""

from keras_transformer_client import GrpcClient, RestClient, ServerError, read_chunks

__all__ = ["GrpcClient", "RestClient", "ServerError", "read_chunks"]
