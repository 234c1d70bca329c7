# SPDX-License-Identifier: Apache-2.0
"""Optimizers and schedules against values that PyTorch 2.13 gives for the same few steps."""
import copy

import numpy as np
import pytest

import burn
from burn import nn, optim

CASES = {
    "sgd_dampening": (lambda o, p: o.SGD(p, lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1), 4),
    "adagrad": (lambda o, p: o.Adagrad(p, lr=0.3, lr_decay=0.1, weight_decay=0.05, initial_accumulator_value=0.1), 4),
    "adadelta": (lambda o, p: o.Adadelta(p, lr=0.9, rho=0.8, weight_decay=0.1), 4),
    "adamax": (lambda o, p: o.Adamax(p, lr=0.05, weight_decay=0.1), 4),
    "adam_amsgrad_maximize": (lambda o, p: o.Adam(p, lr=0.05, amsgrad=True, maximize=True), 4),
    "nadam": (lambda o, p: o.NAdam(p, lr=0.05, weight_decay=0.1), 5),
    "nadam_decoupled": (lambda o, p: o.NAdam(p, lr=0.05, weight_decay=0.1, decoupled_weight_decay=True), 5),
    "radam": (lambda o, p: o.RAdam(p, lr=0.05, weight_decay=0.1), 9),
    "radam_decoupled": (lambda o, p: o.RAdam(p, lr=0.05, weight_decay=0.1, decoupled_weight_decay=True), 9),
    "rmsprop": (lambda o, p: o.RMSprop(p, lr=0.05, weight_decay=0.1), 4),
    "rmsprop_momentum": (lambda o, p: o.RMSprop(p, lr=0.02, momentum=0.7), 4),
    "rmsprop_centered": (lambda o, p: o.RMSprop(p, lr=0.02, alpha=0.7, momentum=0.7, centered=True), 4),
    "rprop": (lambda o, p: o.Rprop(p, lr=0.1), 7),
    "asgd": (lambda o, p: o.ASGD(p, lr=0.05, weight_decay=0.1, t0=2, lambd=0.01), 6),
    "lbfgs": (lambda o, p: o.LBFGS(p, lr=0.3, max_iter=5, history_size=3), 2),
    "lbfgs_strong_wolfe": (lambda o, p: o.LBFGS(p, max_iter=6, line_search_fn="strong_wolfe"), 2),
}

PARAMETERS = {
    "sgd_dampening": [0.6744564, 0.9740209, 0.1904409, 0.2500343, 0.5325005],
    "adagrad": [-0.2529057, 0.3971735, 0.5069696, 0.5528562, 0.9482898],
    "adadelta": [-0.9901764, -0.3889773, 0.007742479, 0.6966212, 1.491677],
    "adamax": [-0.8178155, -0.2365323, 0.081113, 0.5764856, 1.317494],
    "adam_amsgrad_maximize": [-1.199731, -0.5952132, -0.1216229, 0.8787926, 1.700454],
    "nadam": [-0.7774482, -0.1580521, 0.2086299, 0.6601133, 1.314888],
    "nadam_decoupled": [-0.7546754, -0.1502131, 0.2073614, 0.6490655, 1.283547],
    "radam": [-0.3086737, 0.2371133, 0.08669464, 0.3784043, 1.121577],
    "radam_decoupled": [-0.305267, 0.2301491, 0.0848262, 0.3730205, 1.101112],
    "rmsprop": [0.2526411, 0.8153029, 0.8553255, 0.7003251, 0.6858349],
    "rmsprop_momentum": [0.1045367, 0.7573574, 0.8253686, 0.3236321, 0.640044],
    "rmsprop_centered": [-0.6677004, -0.05694379, 0.2217076, 0.5505459, 1.210807],
    "rprop": [0.2915906, 0.8915905, 0.9929921, 0.80208, 0.5070078],
    "asgd": [-0.09055496, 0.5866222, 0.2086879, 0.9742657, 1.141424],
    "lbfgs": [0.2090985, 0.2154677, 0.1264668, 0.2121418, 0.440053],
    "lbfgs_strong_wolfe": [0.2943879, 0.2978619, 0.2904451, 0.2981037, 0.2645895],
}

SCHEDULES = {
    "multi_step": (lambda s, o: s.MultiStepLR(o, [2, 4, 4], gamma=0.5), 6),
    "multiplicative": (lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9 if e % 2 else 0.5), 5),
    "polynomial": (lambda s, o: s.PolynomialLR(o, total_iters=4, power=2.0), 6),
    "constant": (lambda s, o: s.ConstantLR(o, factor=0.25, total_iters=3), 5),
    "linear": (lambda s, o: s.LinearLR(o, 0.25, 0.75, total_iters=4), 6),
    "cosine": (lambda s, o: s.CosineAnnealingLR(o, 3, eta_min=0.1), 8),
    "restarts": (lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, T_mult=2, eta_min=0.05), 9),
    "cyclic": (lambda s, o: s.CyclicLR(o, 0.1, 1.0, step_size_up=2, step_size_down=3, mode="triangular2"), 9),
    "cyclic_exp": (lambda s, o: s.CyclicLR(o, 0.1, 1.0, step_size_up=3, mode="exp_range", gamma=0.9), 9),
    "one_cycle": (lambda s, o: s.OneCycleLR(o, 2.0, total_steps=8, anneal_strategy="linear"), 8),
    "one_cycle_three": (lambda s, o: s.OneCycleLR(o, 2.0, epochs=2, steps_per_epoch=5, three_phase=True), 10),
    "sequential": (lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.1, total_iters=2), s.CosineAnnealingLR(o, 4)], [2]),
                   7),
    "chained": (lambda s, o: s.ChainedScheduler([s.LinearLR(o, 0.5, total_iters=3), s.StepLR(o, 2, gamma=0.5)]), 6),
}

RATES = {
    "multi_step": [0.8, 0.8, 0.4, 0.4, 0.1, 0.1, 0.1, 0.9],
    "multiplicative": [0.8, 0.72, 0.36, 0.324, 0.162, 0.1458, 0.9],
    "polynomial": [0.8, 0.45, 0.2, 0.05, 0.0, 0.0, 0.0, 0.9],
    "constant": [0.2, 0.2, 0.2, 0.8, 0.8, 0.8, 0.9],
    "linear": [0.2, 0.3, 0.4, 0.5, 0.6, 0.6, 0.6, 0.9],
    "cosine": [0.8, 0.625, 0.275, 0.1, 0.275, 0.625, 0.8, 0.625, 0.275, 0.9],
    "restarts": [0.8, 0.425, 0.8, 0.690165043, 0.425, 0.159834957, 0.8, 0.771454825, 0.690165043, 0.568506287, 0.9],
    "cyclic": [0.1, 0.55, 1.0, 0.7, 0.4, 0.1, 0.325, 0.55, 0.4, 0.25, 0.883333333],
    "cyclic_exp": [0.1, 0.37, 0.586, 0.7561, 0.49366, 0.277147, 0.1, 0.24348907, 0.358280326, 0.44867844,
        0.861257951],
    "one_cycle": [0.08, 1.45142857, 1.78571514, 1.42857371, 1.07143229, 0.714290857, 0.357149429, 8e-06,
        -0.357133429, 0.967857143],
    "one_cycle_three": [0.08, 1.04, 2.0, 1.04, 0.08, 0.0723614437, 0.0523634437, 0.0276445563, 0.00764655629,
        8e-06, 0.00764655629, 0.95],
    "sequential": [0.08, 0.44, 0.8, 0.682842712, 0.4, 0.117157288, 0.0, 0.117157288, 0.9],
    "chained": [0.4, 0.533333333, 0.333333333, 0.4, 0.2, 0.2, 0.1, 0.9],
}


def run(make, steps):
    p = nn.Parameter(burn.tensor([-1.0, -0.4, 0.0, 0.7, 1.5]))
    weights = burn.tensor([1.0, 2.0, 0.5, 3.0, 0.1])
    optimizer = make(optim, [p])
    for i in range(steps):
        def loss_of():
            optimizer.zero_grad()
            loss = ((p - 0.3 * i) ** 2 * weights).sum() + (p ** 4).sum() * 0.1
            loss.backward()
            return loss
        optimizer.step(loss_of)
    return p.detach().tolist()


def rates(make, steps):
    p = nn.Parameter(burn.ones(2))
    optimizer = optim.SGD([p], lr=0.8, momentum=0.9)
    schedule = make(optim.lr_scheduler, optimizer)
    found = schedule.get_last_lr()[:]
    for _ in range(steps):
        p.sum().backward()
        optimizer.step()
        schedule.step()
        found.append(optimizer.param_groups[0]["lr"])
        assert schedule.get_last_lr() == [found[-1]]
    return [*found, optimizer.param_groups[0]["momentum"]]


@pytest.mark.parametrize("name", CASES)
def test_parameters_after_some_steps(name):
    np.testing.assert_allclose(run(*CASES[name]), PARAMETERS[name], rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_of_each_epoch(name):
    np.testing.assert_allclose(rates(*SCHEDULES[name]), RATES[name], rtol=1e-7)


@pytest.mark.parametrize("name", [name for name in CASES if "lbfgs" not in name])
def test_all_updates_of_a_step_are_one_launch_and_a_new_rate_compiles_nothing(name):
    """Adadelta's second one is for a value that two results need and that is dear to compute twice."""
    parameters = [nn.Parameter(burn.linspace(-1, 1, 7 * n).reshape(7, n)) for n in (2, 3, 5)]
    optimizer = CASES[name][0](optim, parameters)
    gradients = [burn.linspace(-2, 1, p.numel()).reshape(p.shape) for p in parameters]

    def step():
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient
        burn.sync()
        before = burn.stats()
        optimizer.step()
        burn.sync()
        after = burn.stats()
        return (after["plans"]["launches"] - before["plans"]["launches"],
                after["kernels"]["compiles"] - before["kernels"]["compiles"])
    for _ in range(3):
        step()
    optimizer.param_groups[0]["lr"] = 0.0123
    assert step() == (2 if name == "adadelta" else 1, 0)


def test_state_dict_has_the_keys_of_pytorch():
    p = nn.Parameter(burn.ones(2))
    optimizer = optim.NAdam([("weight", p)])
    p.grad = burn.ones(2)
    optimizer.step()
    state = optimizer.state_dict()
    assert list(state["state"][0]) == ["step", "mu_product", "exp_avg", "exp_avg_sq"]
    assert state["state"][0]["step"].item() == 1.0 and optimizer.state[p]["step"] == 1
    assert set(state["param_groups"][0]) == {
        "lr", "betas", "eps", "weight_decay", "momentum_decay", "decoupled_weight_decay", "maximize", "foreach",
        "capturable", "differentiable", "param_names", "params"}
    other = optim.NAdam([nn.Parameter(burn.ones(2))], lr=1.0)
    other.load_state_dict(copy.deepcopy(state))
    assert other.param_groups[0]["lr"] == 2e-3
    assert other.state[other.param_groups[0]["params"][0]]["step"] == 1


def test_bad_options_and_parameters_are_refused():
    p = nn.Parameter(burn.ones(2))
    for make in (lambda: optim.Adagrad([p], lr=-1), lambda: optim.Adadelta([p], rho=1.5),
                 lambda: optim.Rprop([p], etas=(1.5, 1.2)), lambda: optim.NAdam([p], betas=(0.9, 1.0)),
                 lambda: optim.Adam([]), lambda: optim.Adam([p * 2]),
                 lambda: optim.LBFGS([{"params": [p]}, {"params": [nn.Parameter(burn.ones(1))]}]),
                 lambda: optim.lr_scheduler.OneCycleLR(optim.Adagrad([p]), 1.0, total_steps=3),
                 lambda: optim.lr_scheduler.LinearLR(optim.SGD([p]), start_factor=0.0)):
        with pytest.raises(ValueError):
            make()
    for make in (lambda: optim.SGD(p), lambda: optim.SGD([3]), lambda: optim.SGD([{"params": {p}}]),
                 lambda: optim.lr_scheduler.StepLR(p, 2)):
        with pytest.raises(TypeError):
            make()
    with pytest.warns(UserWarning, match="duplicate"):
        optim.SGD([p, p])


def test_a_schedule_goes_on_from_its_state():
    def made():
        optimizer = optim.SGD([nn.Parameter(burn.ones(1))], lr=0.8, momentum=0.9)
        return optimizer, SCHEDULES["sequential"][0](optim.lr_scheduler, optimizer)
    one, schedule = made()
    for _ in range(3):
        one.step()
        schedule.step()
    two, resumed = made()
    resumed.load_state_dict(schedule.state_dict())
    two.load_state_dict(one.state_dict())
    for _ in range(3):
        schedule.step()
        resumed.step()
        assert one.param_groups[0]["lr"] == two.param_groups[0]["lr"]


def test_plateau_reduces_after_its_patience():
    optimizer = optim.SGD([nn.Parameter(burn.ones(1))], lr=1.0)
    schedule = optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", factor=0.5, patience=1, cooldown=1, min_lr=0.3)
    found = []
    for metric in (1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0):
        schedule.step(burn.tensor(metric))
        found.append(optimizer.param_groups[0]["lr"])
    assert found == [1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.3, 0.3, 0.3]


def test_a_step_of_ones_own_and_hooks():
    class Signed(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @burn.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    p, seen = nn.Parameter(burn.tensor([1.0, -1.0])), []
    optimizer = Signed([p], 0.5)
    handle = optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    (p * 3).sum().backward()
    optimizer.step()
    handle.remove()
    optimizer.step()
    assert p.tolist() == [0.0, -2.0] and seen == ["before", "after", "before"]


def test_averages_of_models():
    net = nn.Linear(2, 1)
    mean = optim.swa_utils.AveragedModel(net)
    ema = optim.swa_utils.AveragedModel(net, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.5))
    for value in (1.0, 2.0, 6.0):
        nn.init.constant_(net.weight, value)
        mean.update_parameters(net)
        ema.update_parameters(net)
    assert mean.module.weight.tolist() == [[3.0, 3.0]] and ema.module.weight.tolist() == [[3.75, 3.75]]
    assert int(mean.n_averaged) == 3 and "module.weight" in mean.state_dict()


def test_swa_rates():
    optimizer = optim.SGD([nn.Parameter(burn.ones(1))], lr=1.0)
    schedule = optim.swa_utils.SWALR(optimizer, 0.1, anneal_epochs=4, anneal_strategy="linear")
    found = []
    for _ in range(6):
        optimizer.step()
        schedule.step()
        found.append(optimizer.param_groups[0]["lr"])
    np.testing.assert_allclose(found, [0.775, 0.55, 0.325, 0.1, 0.1, 0.1])
