"""params.yaml's data entries: each source's own options, and the library's own defaults."""

from inspect import Parameter

import pytest

from gramlab.data import SOURCES, options_of, prepare
from tasks.settings import SCALES, Data, _valid, load, merged
from tasks.settings.data import IMAGES, OPTIONS, SYNTHETIC


@pytest.mark.parametrize("source", SOURCES)
def test_settings_and_library_know_the_same_options(source):
    fields = OPTIONS[source].model_fields
    assert list(fields.keys() ^ options_of(source).keys()) == []
    for name, option in options_of(source).items():
        assert fields[name].is_required() == (option.default is Parameter.empty)
        assert fields[name].is_required() or fields[name].default == option.default


def test_settings_know_every_source():
    assert {*IMAGES, *SYNTHETIC} == set(SOURCES) == set(Data.model_fields["source"].annotation.__args__)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"source": "folder"}, "data.x.paper.path: path must be given for source folder"),
        ({"source": "digits", "path": "a"}, "data.x.paper.path: source digits has no such option; allowed: test_fr"),
        ({"source": "modular", "modulus": 61, "operatoin": "x+y"}, "data.x.paper.operatoin: source modular has no"),
        ({"source": "modular", "modulus": 61, "operation": "x%y"}, "data.x.paper.operation: Input should be 'x+y'"),
        ({"source": "modular", "modulus": 1}, "data.x.paper.modulus: Input should be greater than or eq"),
        ({"source": "modular"}, "data.x.paper.modulus: modulus must be given for source modular"),
        ({"source": "celeba"}, "data.x.paper.attribute: attribute must be given for source celeba"),
        ({"source": "sparse_parity", "samples": 4, "dimension": 3, "support": [0, -1]}, "data.x.paper.support.1: In"),
        ({"source": "fact_population", "p": 1.5}, "data.x.paper.p: Input should be less than or equal to 1, not 1.5"),
        ({"source": "swiss_roll", "samples": 9, "train": 3}, "data.x.paper.train: only images have it"),
        ({"source": "mnist", "random_labels": -1}, "data.x.paper.random_labels: Input should be greater than"),
        ({"source": "mnist", "order": "last"}, "data.x.paper.order: Input should be 'random' or 'first', not 'last'"),
        ({"source": "cifar"}, "data.x.paper.source: Input should be 'digits', 'mnist'"),
        ({}, "data.x.paper.source: Field required"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_key(value, says, capsys):
    with pytest.raises(SystemExit) as stopped:
        _valid(Data, value, "data.x.paper")
    line = capsys.readouterr().err
    assert stopped.value.code == 2
    assert line.startswith(f"params.yaml: {says}")
    assert line.count("\n") == 1


def test_settings_pass_their_options_to_the_library():
    paper = {"source": "celeba", "attribute": "Eyeglasses", "train": 7500, "balanced": True}
    assert Data.model_validate(paper).options() == {"attribute": "Eyeglasses", "train": 7500, "balanced": True}
    quick = Data.model_validate(merged(paper, {"source": "digits", "attribute": None, "train": 20, "classes": [0, 1]}))
    data = prepare(quick.source, ".", **quick.options())
    assert (len(data.x_train), data.classes) == (20, 2)


def test_every_entry_of_params_has_options_that_its_source_takes():
    for entry in (entry for scale in SCALES for entry in load(scale).data.values()):
        for data in entry.parts().values():
            assert data.options().keys() <= {*OPTIONS[data.source].model_fields, *Data.model_fields}
