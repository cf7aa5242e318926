"""Looking at an exported model as a server would."""

from keras_transformer.export.check import check_version, newest_version
from keras_transformer.export.server_ops import server_ops

SERVER_RELEASE = "2.20.0"  # the newest server there is


def check(model, release=SERVER_RELEASE, libraries=None, show=lambda finding: None):
    """Checks the newest version of an exported model.

    Args:
        model: the folder of the model, or of one version.
        release: of the server it is to run on.
        libraries: a folder with unpacked wheels of another TensorFlow and TensorFlow Text, to run
            the model with; the installed ones unless given.
        show: called with each `export.check.Finding` as it comes.

    Returns:
        The findings, a list.
    """
    version = newest_version(model)
    server_ops(release)  # an unknown release is an error before anything is loaded
    findings = []
    for finding in check_version(version, release, libraries):
        show(finding)
        findings.append(finding)
    return findings
