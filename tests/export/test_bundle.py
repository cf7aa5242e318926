"""What stands beside the versions."""

import re

import yaml

from keras_transformer.export.bundle import curl_line
from keras_transformer.export.warmup import read_warmup
from keras_transformer.tasks import RunFolder


def test_the_files_name_each_other(exported):
    compose = yaml.safe_load((exported / "docker-compose.yml").read_text())
    service = compose["services"]["small"]
    assert service["image"].startswith("tensorflow/serving:")
    assert service["volumes"] == [".:/models/small:ro"]
    files = [option.split("=/models/small/")[1] for option in service["command"] if "/" in option]
    assert files == ["models.config", "batching.config", "monitoring.config"]
    assert all((exported / name).exists() for name in files)
    config = (exported / "models.config").read_text()
    assert 'name: "small"' in config
    assert 'base_path: "/models/small"' in config


def test_the_configurations_are_balanced_text_protos(exported):
    for name in ("models.config", "batching.config", "monitoring.config"):
        lines = (exported / name).read_text().splitlines()
        text = "\n".join(line for line in lines if not line.startswith("#"))
        assert text.count("{") == text.count("}") > 0
        assert re.fullmatch(r'(\s|[\w.]+:?|"[^"]*"|[{}])+', text), name


def test_the_readme_has_a_line_that_works_in_a_shell(exported):
    readme = (exported / "README.md").read_text()
    assert 'curl -d \'{"instances": [' in readme
    assert "/v1/models/small:predict" in readme
    assert "| `encode` | `text` | `vector` |" in readme
    assert curl_line("m", {"instances": ["l'été"]}).startswith(
        'curl -d \'{"instances": ["l\'"\'"\''
    )


def test_warm_up_has_a_sentence_of_every_length_and_every_signature(trained, exported):
    requests = list(read_warmup(exported / "1"))
    examples = RunFolder(trained).config["data"]["examples"]
    alone = [i["text"][0].decode() for name, i in requests if name == "serving_default"]
    assert alone == examples
    assert len(examples) > 5
    lengths = [len(text.split()) for text in examples]
    assert max(lengths) > min(lengths) + 3
    assert {name for name, _ in requests} == {
        "serving_default", "translate", "translate_nbest", "translate_ids", "tokenize",
        "detokenize", "encode", "attention", "logits",
    }  # fmt: skip
