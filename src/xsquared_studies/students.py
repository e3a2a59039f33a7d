"""Networks that are trained to imitate a layer, several at once, on a GPU where there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, sqrt

import torch
from torch import Tensor, nn
from torch.func import functional_call

from xsquared.units import GatedNetwork, build
from xsquared_studies.pairs import Pairs, affine

#: Tokens a step.
_BATCH = 128
#: Steps before a GPU records one: in the first, libraries and the optimiser find their memory.
_UNRECORDED = 3


@dataclass(frozen=True)
class Course:
    """How a student is trained: its seed, its largest rate, and how many steps."""

    seed: int
    rate: float
    steps: int


def trained(of: Pairs, unit: str, n: int, courses: Sequence[Course]) -> list[GatedNetwork]:
    """Students' networks, each trained beside an affine map of its own."""
    x, y = of.x["train"], of.y["train"]
    count, d = x.shape
    draws = [torch.Generator().manual_seed(course.seed) for course in courses]
    networks = [_begun(unit, d, n, y.shape[1], draw).to(x.device) for draw in draws]
    skips = [nn.Parameter(of.skip.float()) for _ in courses]
    names = [name for name, _ in networks[0].named_parameters()]
    alike = torch.vmap(partial(functional_call, networks[0]))
    rates = torch.zeros(len(courses), 2, device=x.device)
    groups = [
        {"params": weights, "lr": rate}
        for network, skip, own in zip(networks, skips, rates, strict=True)
        for weights, rate in zip(([*network.parameters()], [skip]), own, strict=True)
    ]
    on_gpu = x.device.type == "cuda"
    optimizer = torch.optim.Adam(groups, betas=(0.9, 0.97), fused=True, capturable=on_gpu)
    whole = max(course.steps for course in courses)
    shares = torch.stack([_shares(course, whole) for course in courses], 1).to(x.device)
    orders = torch.stack([_orders(count, whole, draw) for draw in draws], 1).to(x.device)
    begin = 0
    for end in sorted({course.steps for course in courses}):
        live = [k for k, course in enumerate(courses) if course.steps >= end]
        here = torch.zeros(len(live), _BATCH, dtype=torch.long, device=x.device)
        next_of = orders[:, live]

        def feed(step: int, here: Tensor = here, next_of: Tensor = next_of) -> None:
            rates.copy_(shares[step])
            here.copy_(next_of[step])

        def learn(live: list[int] = live, here: Tensor = here) -> None:
            weights = {
                name: torch.stack([networks[k].get_parameter(name) for k in live]) for name in names
            }
            maps = torch.stack([skips[k] for k in live])
            inputs = x[here]  # (live, batch, d)
            left = alike(weights, (inputs,)) + affine(inputs) @ maps - y[here]
            optimizer.zero_grad()
            left.square().mean((1, 2)).sum().backward()
            optimizer.step()

        _repeat(feed, learn, range(begin, end), on_gpu)
        begin = end
    return networks


def _begun(unit: str, d: int, n: int, n_out: int, draw: torch.Generator) -> GatedNetwork:
    """A network with outputs zero, and gates and factors of inputs that come out alike in size."""
    network = build(unit, d, n, n_out, generator=draw).float()
    with torch.no_grad():
        for name, weights in network.named_parameters():
            weights.mul_(name.isupper() and name != "D").div_(sqrt(d))
    return network


def _shares(course: Course, whole: int) -> Tensor:
    """(whole, 2) Rates of the network and of the map at each step."""
    step, steps = torch.arange(whole), max(course.steps, 1)
    share = torch.minimum(20 * (step + 1) / steps, 2 * (steps - step) / steps).clamp(0, 1)
    return course.rate * share[:, None] * torch.tensor([1.0, 0.1])


def _orders(count: int, steps: int, draw: torch.Generator) -> Tensor:
    """(steps, batch) Tokens of each step: all in a random order, again and again."""
    each = count // _BATCH
    drawn = [torch.randperm(count, generator=draw) for _ in range(ceil(steps / each))]
    parts = [order[: each * _BATCH].view(each, _BATCH) for order in drawn]
    return torch.cat([torch.empty(0, _BATCH, dtype=torch.long), *parts])[:steps]


def _repeat(
    feed: Callable[[int], None], learn: Callable[[], None], steps: range, on_gpu: bool
) -> None:
    """Feed and learn at each step; a GPU records what learning does, and repeats the record.

    Launched one by one, a small student's operations keep the processor busy and the GPU waiting.
    """
    if not on_gpu:
        for step in steps:
            feed(step)
            learn()
        return
    record, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        for done, step in enumerate(steps):
            feed(step)
            if done < _UNRECORDED:
                learn()
                continue
            if done == _UNRECORDED:
                with torch.cuda.graph(record, stream=stream):
                    learn()
            record.replay()
    torch.cuda.synchronize()
    torch.backends.cuda.matmul.fp32_precision = "ieee"
