"""What polynomials leave along segments, against Legendre's series by hand."""

from types import SimpleNamespace as Module

import numpy as np
import pytest
import torch

from xsquared.studies import segments
from xsquared.studies.language_models import FeedForward, Model


def test_a_quadratic_layer_leaves_its_second_legendre_coefficient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With x = m + t e the layer is q t^2 + ..., q = D (W e)^2, t^2 = 2 P_2/3 + 1/3.

    The square of P_2 integrates to 2/5: degree 1 leaves 8/45 q^2, degree 2 nothing.
    """
    generator = torch.Generator().manual_seed(0)
    W, D = torch.randn(2, 5, 5, generator=generator)
    x = torch.randn(1, 33, 5, generator=generator)
    of = Model(torch.square, [FeedForward(W, D)], [], lambda _: x, lambda _: [])
    monkeypatch.setattr(segments, "model", lambda _: of)
    inputs = Module(inputs={("test", 0): x})
    monkeypatch.setattr(segments, "activations", lambda _: inputs)
    left, turned = segments._along_segments.__wrapped__("", 0, "own")
    order = np.random.default_rng(0).permutation(32)
    a, b = x[0, 1:][order[:16]].double(), x[0, 1:][order[16:]].double()
    q = ((b - a) / 2 @ W.T.double()) ** 2 @ D.T.double()
    assert left[0, 1] == pytest.approx(float(8 / 45 * (q**2).sum()))
    assert left[0, 2:] == pytest.approx(np.zeros(5), abs=1e-9 * left[0, 0])
    changes = (a @ W.T.double()).sign() != (b @ W.T.double()).sign()
    assert turned == pytest.approx([float(changes.double().mean())])
