"""One model from the last epochs of a run."""

from keras_transformer.tasks.run_folder import AVERAGED, RunFolder
from keras_transformer.training import average_weights, last_epochs


def average(run, last=10):
    """Averages the weights of a run's last epochs; later commands use the result.

    Args:
        run: path of the run's folder.
        last: how many epochs.

    Returns:
        The path of the averaged model.
    """
    folder = RunFolder(run, "translation")
    epochs = last_epochs(folder.weights, last)
    model = folder.load_model("best")
    average_weights(model, epochs)
    folder.save_model(model, AVERAGED)
    return folder.path / AVERAGED
