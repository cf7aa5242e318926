"""`python -m keras_transformer_cli`."""

from keras_transformer_cli import main

if __name__ == "__main__":
    main()
