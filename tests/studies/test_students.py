"""Students learn, each as if it were alone."""

import pytest
import torch

from tests.studies.layer_pairs import learnt
from xsquared_studies.pairs import Pairs, error, solved
from xsquared_studies.small_models import LANGUAGE_UNITS
from xsquared_studies.students import Course, trained

UNITS = [unit for unit, _ in LANGUAGE_UNITS]


@pytest.mark.parametrize("unit", UNITS)
def test_students_learn_and_more_steps_teach_more(unit: str) -> None:
    of = learnt()
    left = []
    for steps in (1, 60, 600):
        (student,) = trained(of, unit, 12, [Course(0, 0.01, steps)])
        skip, readout = solved(of, student.hidden)
        left.append(error(of, "test", skip, student.hidden, readout))
    assert left[2] < 0.98 * left[1] or left[2] < 0.9 * left[0]
    assert left[2] < 0.9 * error(of, "test", of.skip.float())


def test_students_trained_at_once_are_those_trained_alone() -> None:
    of = learnt()
    courses = [Course(0, 0.01, 60), Course(1, 0.01, 60), Course(0, 0.02, 60), Course(0, 0.01, 30)]
    together = trained(of, "glu", 12, courses)
    for course, student in zip(courses, together, strict=True):
        (alone,) = trained(of, "glu", 12, [course])
        for name, weights in student.named_parameters():
            assert torch.allclose(weights, alone.get_parameter(name), atol=1e-5), (course, name)
    for k, student in enumerate(together[1:]):
        assert (student.G - together[0].G).abs().max() > 0.01, courses[k + 1]


def test_an_untrained_student_is_linear_regression() -> None:
    of = learnt()
    (student,) = trained(of, "mlp", 5, [Course(0, 0.01, 0)])
    assert not student.D.any()
    assert not student.d.any()
    assert student.G.any()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("unit", UNITS)
def test_a_gpu_repeats_what_the_processor_does(unit: str) -> None:
    of = learnt()
    there = Pairs(
        {part: x.cuda() for part, x in of.x.items()},
        {part: y.cuda() for part, y in of.y.items()},
        of.moments.cuda(),
        of.skip.cuda(),
    )
    courses = [Course(0, 0.01, 40), Course(1, 0.01, 40), Course(0, 0.01, 20)]
    pairs = zip(trained(of, unit, 12, courses), trained(there, unit, 12, courses), strict=True)
    for here, other in pairs:
        for name, weights in here.named_parameters():
            moved = other.get_parameter(name).detach().cpu()
            assert (moved - weights).norm() < 0.02 * weights.norm() + 1e-3, name
