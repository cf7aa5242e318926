import keras

if keras.backend.backend() == "tensorflow":
    collect_ignore_glob = ["test_*.py"]  # these compare another backend with TensorFlow
