"""How the weights of a model are spread over devices, on the JAX backend."""

import keras

# Of every kind of weight that is split, and of its rank, the axis that is: each device has some
# attention heads, some of the feed-forward network's inner features and some of the vocabulary.
SPLIT = {
    r"(.*/)?(qkv|query|kv|widen)/kernel": (2, 1),
    r"(.*/)?(qkv|query|kv|widen)/bias": (1, 0),
    r"(.*/)?(merge|narrow)/kernel": (2, 0),
    r"(.*/)?relative/table/embeddings": (2, 1),
    r"(.*/)?tokens/embeddings": (2, 0),
    r"(.*/)?output/kernel": (2, 1),
}


def layout_map(device_mesh, axis="model"):
    """Which weights of this package's layers are split over an axis of a mesh, and how.

    Attention and feed-forward networks then need one sum over that axis each, Shoeybi et al. 2019
    (Megatron-LM). Norms, positions and the biases of such sums are on every device.

    Args:
        device_mesh: a `keras.distribution.DeviceMesh`.
        axis: the name of one of its axes.

    Returns:
        A `keras.distribution.LayoutMap`.
    """
    if axis not in device_mesh.axis_names:
        raise ValueError(
            f"`axis` must be one of the mesh's. Received: axis={axis!r}, "
            f"axes {', '.join(device_mesh.axis_names)}"
        )
    layouts = keras.distribution.LayoutMap(device_mesh)
    for pattern, (rank, split) in SPLIT.items():
        layouts[pattern] = tuple(axis if i == split else None for i in range(rank))
    return layouts


def model_parallel(ways, devices=None):
    """A distribution that splits a model over some devices, and batches over groups of such.

    For `keras.distribution.set_distribution`, before the model is made. JAX only.

    Args:
        ways: over how many devices a model is split; a divisor of its heads, its `ffn_dim`, its
            vocabulary, and of the number of devices.
        devices: names; all there are unless given.

    Returns:
        A `keras.distribution.ModelParallel` with the axes "batch" and "model".
    """
    devices = keras.distribution.list_devices() if devices is None else devices
    if ways < 1 or len(devices) % ways:
        raise ValueError(
            "`ways` must be a divisor of the number of devices. "
            f"Received: ways={ways}, {len(devices)} devices"
        )
    mesh = keras.distribution.DeviceMesh((len(devices) // ways, ways), ("batch", "model"), devices)
    return keras.distribution.ModelParallel(layout_map=layout_map(mesh), batch_dim_name="batch")


def check_divisible(variables, layouts, axis="model"):
    """Raises an error, which names the weight, if one cannot be split evenly.

    Args:
        variables: a model's.
        layouts: a `keras.distribution.LayoutMap`.
        axis: the name of the mesh's axis.
    """
    mesh = layouts.device_mesh
    ways = mesh.shape[mesh.axis_names.index(axis)]
    for variable in variables:
        layout = layouts[variable.path]
        for size, split in zip(variable.shape, layout.axes if layout else (), strict=False):
            if split == axis and size % ways:
                raise ValueError(
                    f"What is split over {ways} devices must be a multiple of that. Received: "
                    f"{variable.path} of shape {tuple(variable.shape)}"
                )
