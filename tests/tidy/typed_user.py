# SPDX-License-Identifier: Apache-2.0
"""A user's program that `mypy --strict` must accept; test_stubs.py checks it and never runs it."""
import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim
from burn import Tensor


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(4, width)
        self.norm = nn.LayerNorm(width)
        self.drop = nn.Dropout(0.1)
        self.last = nn.Linear(width, 3)
        self.scale = nn.Parameter(burn.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        x = self.drop(self.norm(F.relu(self.first(x))))
        y: Tensor = self.last(x)
        return y * self.scale


@burn.no_grad()
def accuracy(net: Net, x: Tensor, y: Tensor) -> float:
    return float((net(x).argmax(1) == y).float().mean())


@burn.no_grad
def plain(x: Tensor) -> Tensor:
    return x + 1


@burn.jit
def scaled(x: Tensor, k: Tensor) -> Tensor:
    return x.exp() * k


def train() -> float:
    burn.manual_seed(0)
    net = Net(8)
    optimizer = optim.Adam(net.parameters(), lr=1e-2)
    x, y = burn.randn(16, 4), burn.randint(0, 3, (16,))
    loss = burn.zeros(())
    for step in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    part = x[:, 1:3]
    part[0] = 0.0
    x[x > 0] += 1
    rows = x[burn.tensor([0, 2])]
    rows.mul_(2).add_(1)
    parts: tuple[Tensor, ...] = x.split(2, dim=1)
    both = burn.cat([parts[0], parts[1]], dim=1)
    values, where = both.max(dim=1)
    name: str = x.dtype.name
    shape: burn.Size = x.shape
    n: int = x.shape[0]
    grad = net.scale.grad
    if grad is not None:
        print(grad.sum().item(), name, shape, n, values, where)
    with burn.no_grad(), burn.set_grad_enabled(False):
        z = -x @ x.T + 1.5
    z = z.to(burn.float64).reshape(-1).clamp(min=0)
    burn.save(net.state_dict(), "x.safetensors")
    net.load_state_dict(burn.load("x.safetensors"))
    print(scaled(x, burn.tensor(2.0)).numpy(), plain(x), z, accuracy(net, x, y), burn.stats()["memory"])
    g, = burn.autograd.grad(loss, [net.scale], allow_unused=True)
    stack = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.ModuleList([nn.GELU()])[0])
    for key, parameter in stack.named_parameters():
        parameter.requires_grad_(False)
        print(key, parameter.shape, burn.is_grad_enabled())
    return loss.item() if loss.dim() == 0 else float(loss)


if __name__ == "__main__":
    print(train())
