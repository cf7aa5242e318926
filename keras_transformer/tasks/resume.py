"""Going on with a training that stopped, but only if it is the same training."""

from keras_transformer.tasks.run_folder import versions


def check_versions(folder):
    """Raises an error if the run was begun with other versions: other results would come out."""
    began = folder.config.get("versions", {})
    for name, now in versions().items():
        if began.get(name) != now:
            raise ValueError(
                f"{folder.path} was begun with {name} {began.get(name)}, this is {now}: "
                f"install that version, or go on with other results, --other-versions"
            )


def check_data(folder, corpus):
    """Raises an error if the sentences are not those that the run was begun with."""
    began, found = folder.config.get("data", {}), corpus.fingerprints()
    if not found.keys() <= began.keys():
        raise ValueError(f"{folder.path} was begun by an earlier version, and cannot be resumed")
    for part, name in (("train", "training"), ("valid", "validation")):
        number, fingerprint = (key for key in found if key.startswith(f"{part}_"))
        unit = number.removeprefix(f"{part}_")
        keys = (number, fingerprint)
        then, now = (tuple(values[key] for key in keys) for values in (began, found))
        if then[0] != now[0]:
            raise ValueError(
                f"{folder.path} was begun with {then[0]:,} {name} {unit}, now there are {now[0]:,}"
            )
        if then != now:
            raise ValueError(
                f"The {name} sentences are not those that {folder.path} was begun with: as many, "
                "but not the same"
            )
