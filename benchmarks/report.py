"""What came out: a table, a JSON file and a picture; a winner only where there is one."""

import importlib.metadata
import json
import os
import platform
import statistics
from pathlib import Path

PACKAGES = ("tensorflow", "keras", "keras-hub", "torch", "ctranslate2", "numpy")
OURS, PEERS = "#1f5fa8", "#b0b7bf"


def spread(values):
    """Median, lowest and highest of several measurements."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def ratio(ours, theirs):
    """How many times as much, as a spread over the rounds, in which both were measured together."""
    return spread([a / b for a, b in zip(ours, theirs, strict=True)])


def verdict(ours, theirs):
    """ "ahead", "behind", or "even" if the spreads of the two overlap; more is better."""
    ours, theirs = spread(ours), spread(theirs)
    if ours["low"] > theirs["high"]:
        return "ahead"
    return "behind" if ours["high"] < theirs["low"] else "even"


def machine():
    """Where and with what it was measured."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
    }


def _cpu():
    """Name of the processor, and the widest vectors it has."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    fields = {key.strip(): value for key, _, value in (line.partition(":") for line in lines)}
    flags = fields.get("flags", "").split()
    widest = next((flag for flag in ("avx512f", "avx2", "avx") if flag in flags), "no AVX")
    return f"{fields.get('model name', platform.processor()).strip()}, {widest}"


def _version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def print_table(title, rows, unit, baseline=None):
    """A line for each name: median, spread, and how many times as much the baseline does.

    Args:
        title: of the table.
        rows: from names to measurements, more being better.
        unit: of the measurements.
        baseline: the name that all are compared with.
    """
    print(f"\n{title} ({unit})")
    width = max(map(len, rows))
    for name, values in rows.items():
        s = spread(values)
        line = f"  {name:{width}}  {s['median']:10,.1f}  ({s['low']:,.1f} to {s['high']:,.1f})"
        if baseline is not None and name != baseline:
            r = ratio(rows[baseline], values)
            line += (
                f"   {baseline}: {r['median']:.2f} x ({r['low']:.2f} to {r['high']:.2f}), "
                f"{verdict(rows[baseline], values)}"
            )
        print(line)


def write_json(out, name, **content):
    """Everything that was measured, with the machine it was measured on, as `<out>/<name>.json`."""
    path = Path(out) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), **content}, indent=1) + "\n")
    print(f"Written: {path}")
    return path


def draw_bars(out, name, title, groups, unit, ours, label="{:,.0f}"):
    """Bars of medians with their spreads, a panel for each group, as `<out>/<name>.png`.

    Args:
        out: a folder.
        name: of the file.
        title: of the picture.
        groups: from the title of a panel to its rows, from names to measurements.
        unit: of the measurements.
        ours: a function that says of a name whether it is one of ours.
        label: how a median is written.
    """
    plt = pyplot()
    rows_in = [len(rows) for rows in groups.values()]
    figure, panels = plt.subplots(
        len(groups),
        1,
        figsize=(9, 0.9 * len(groups) + 0.32 * sum(rows_in)),
        squeeze=False,
        height_ratios=rows_in,
    )
    for panel, (heading, rows) in zip(panels[:, 0], groups.items(), strict=True):
        spreads = [spread(values) for values in rows.values()]
        medians = [s["median"] for s in spreads]
        beyond = [
            [s["median"] - s["low"] for s in spreads],
            [s["high"] - s["median"] for s in spreads],
        ]
        colors = [OURS if ours(row) else PEERS for row in rows]
        bars = panel.barh(list(rows), medians, xerr=beyond, color=colors, ecolor="#444444")
        panel.bar_label(bars, [label.format(median) for median in medians], padding=6, fontsize=8)
        panel.margins(x=0.12)
        panel.invert_yaxis()
        panel.set_title(heading, fontsize=10, loc="left")
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8)
    panels[-1, 0].set_xlabel(unit, fontsize=9)
    figure.suptitle(title, fontsize=11)
    save(figure, out, name)


def pyplot():
    """Matplotlib without a screen."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    return plt


def save(figure, out, name):
    """Writes a picture."""
    path = Path(out) / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.set_layout_engine("constrained")  # leaves room for the title of all panels
    figure.savefig(path, dpi=110)
    print(f"Written: {path}")
