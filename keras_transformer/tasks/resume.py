"""Going on with a training that stopped, but only if it is the same training."""

from keras_transformer.tasks.run_folder import versions


def check_versions(folder):
    """Raises an error if the run was begun with other versions: other results would come out."""
    began = folder.config["versions"]
    for name, now in versions().items():
        if began.get(name) != now:
            raise ValueError(
                f"{folder.path} was begun with {name} {began.get(name)}, this is {now}: "
                f"install that version, or go on with other results, --other-versions"
            )


def check_data(folder, corpus):
    """Raises an error if the sentences are not those that the run was begun with."""
    began = folder.config["data"]
    for part, name in (("train", "training"), ("valid", "validation")):
        then = began[f"{part}_pairs"], began[f"{part}_fingerprint"]
        now = (
            corpus.fingerprints()[f"{part}_pairs"],
            corpus.fingerprints()[f"{part}_fingerprint"],
        )
        if then[0] != now[0]:
            raise ValueError(
                f"{folder.path} was begun with {then[0]:,} {name} pairs, now there are {now[0]:,}"
            )
        if then != now:
            raise ValueError(
                f"The {name} sentences are not those that {folder.path} was begun with: as many, "
                "but not the same"
            )
