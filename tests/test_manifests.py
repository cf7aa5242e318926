"""The Kubernetes manifest and the Slurm script of docs/scale.md give every worker its place."""

import os
import re
import subprocess
from pathlib import Path

import yaml

from keras_transformer.training.cluster import Cluster

PAGE = (Path(__file__).parents[1] / "docs" / "scale.md").read_text()
# What the script ends with prints what it would have been started with.
PRINT = 'keras-transformer() { printf "%s\\n" "$TF_CONFIG" "$*"; }; export -f keras-transformer\n'


def block(language):
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)
    return text


def run(script, **environment):
    """The cluster and the words of the command that a script starts."""
    done = subprocess.run(
        ["bash", "-c", PRINT + script.replace("exec keras-transformer", "keras-transformer")],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    *config, words = done.stdout.splitlines()
    return Cluster.from_text("\n".join(config)), words.split()


def test_pods_know_each_other():
    service, job = yaml.safe_load_all(block("yaml"))
    name, spec = job["metadata"]["name"], job["spec"]
    assert service["metadata"]["name"] == name == spec["template"]["spec"]["subdomain"]
    assert service["spec"]["selector"] == {"job-name": name}
    (container,) = spec["template"]["spec"]["containers"]
    (workers,) = (int(one["value"]) for one in container["env"] if one["name"] == "WORKERS")
    assert workers == spec["completions"] == spec["parallelism"]
    (script,) = container["args"]
    for index in (0, 3):
        environment = {"WORKERS": str(workers), "JOB_COMPLETION_INDEX": str(index)}
        cluster, words = run(script, **environment)
        assert cluster.addresses == tuple(f"{name}-{i}.{name}:2222" for i in range(4))
        assert cluster.index == index
        assert words[:2] == ["train", "--resume-or-begin"]


def test_tasks_of_slurm_know_each_other():
    tools = "scontrol() { printf 'node1\\nnode2\\n'; }\nsrun() { shift; SLURM_PROCID=1 \"$@\"; }\n"
    cluster, words = run(tools + block("bash"), SLURM_JOB_NODELIST="node[1-2]", SLURM_JOB_ID="7")
    assert cluster == Cluster(("node1:2222", "node2:2222"), 1)
    assert words[:2] == ["train", "--resume-or-begin"]
