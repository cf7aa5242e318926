"""The same model in other libraries."""
