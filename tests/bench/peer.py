#!/usr/bin/env python3
"""The same model as phase-model's in PyTorch, to compare with: its speed, and its loss.

    peer.py speed MODEL BATCH STEPS [eager]   prints tokens/s
    peer.py loss CHECKPOINT FILE              prints the loss of a checkpoint on the bytes of FILE

`speed` trains on random tokens in bf16 with torch.compile and fused AdamW, on the GPU if there is
one. `gpu` runs it beside phase-model."""
import struct
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

SHAPES = {  # vocabulary, width, depth, heads, kv_heads, hidden, loops, tied, sequence: as options.c
    "tiny": (256, 64, 1, 4, 4, 192, 4, 0, 128),
    "124m": (50304, 768, 12, 12, 12, 2048, 1, 1, 1024),
    "350m": (50304, 1024, 24, 16, 16, 2752, 1, 1, 1024),
    "1.5b": (50304, 2048, 28, 16, 8, 5504, 1, 0, 1024),
}
HEADER = "<8s10I5Q32s32s"  # struct checkpoint_header
SHARES_KEYS = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 5)  # knows enable_gqa


def norm(x, gain):
    scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
    return (x.float() * scale * gain.float()).to(x.dtype)


def turned(x, table):
    """Rotary positions: the halves of a head are turned. x: batch, heads, sequence, head width."""
    cosine, sine = table
    a, b = x.chunk(2, -1)
    return torch.cat((a * cosine - b * sine, a * sine + b * cosine), -1)


class Block(nn.Module):
    def __init__(self, width, heads, kv_heads, hidden):
        super().__init__()
        self.heads, self.kv_heads, self.head = heads, kv_heads, width // heads
        self.norm1 = nn.Parameter(torch.ones(width))
        self.qkv = nn.Linear(width, (heads + 2 * kv_heads) * self.head, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.norm2 = nn.Parameter(torch.ones(width))
        self.up = nn.Linear(width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x, table):
        batch, sequence, width = x.shape
        rows = self.qkv(norm(x, self.norm1)).view(batch, sequence, -1, self.head).transpose(1, 2)
        q, k, v = rows.split((self.heads, self.kv_heads, self.kv_heads), 1)
        q, k = turned(q, table), turned(k, table)
        grouped = {}
        if self.kv_heads < self.heads and SHARES_KEYS:
            grouped["enable_gqa"] = True
        elif self.kv_heads < self.heads:
            k, v = (t.repeat_interleave(self.heads // self.kv_heads, 1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, **grouped)
        x = x + self.out(y.transpose(1, 2).reshape(batch, sequence, width))
        gate, factor = self.up(norm(x, self.norm2)).chunk(2, -1)
        return x + self.down(F.silu(gate) * factor)


class Model(nn.Module):
    def __init__(self, vocabulary, width, depth, heads, kv_heads, hidden, loops, tied, sequence):
        super().__init__()
        self.loops, self.sequence, self.head_width = loops, sequence, width // heads
        self.tokens = nn.Parameter(torch.randn(vocabulary, width) * 0.02)
        self.head = self.tokens if tied else nn.Parameter(torch.randn(vocabulary, width) * 0.02)
        self.norm = nn.Parameter(torch.ones(width)) if loops == 1 else None
        self.blocks = nn.ModuleList(Block(width, heads, kv_heads, hidden) for _ in range(depth))

    def table(self, device, dtype):
        rates = 10000 ** (-torch.arange(0, self.head_width, 2, device=device) / self.head_width)
        angles = torch.arange(self.sequence, device=device)[:, None] * rates
        return angles.cos().to(dtype), angles.sin().to(dtype)

    def forward(self, ids, targets, table):
        """Returns the mean loss after the last loop."""
        x = F.embedding(ids, self.tokens)
        for _ in range(self.loops):
            for block in self.blocks:
                x = block(x, table)
        if self.norm is not None:
            x = norm(x, self.norm)
        return F.cross_entropy((x @ self.head.t()).flatten(0, 1).float(), targets.flatten())


def speed(name, batch, steps, is_compiled):
    shape = SHAPES[name]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    model = Model(*shape).to(device)
    table = model.table(device, dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **({"fused": True} if device == "cuda" else {}))
    run = torch.compile(model) if is_compiled else model
    ids = torch.randint(shape[0], (batch, shape[-1] + 1), device=device)
    began = None
    for step in range(-3, steps):  # the first steps compile
        if step == 0:
            torch.cuda.synchronize() if device == "cuda" else None
            began = time.perf_counter()
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = run(ids[:, :-1], ids[:, 1:], table)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize() if device == "cuda" else None
    rate = steps * batch * shape[-1] / (time.perf_counter() - began)
    gpu = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    print(f"{rate:.0f} tokens/s, {gpu}, torch {torch.__version__}")


def read(path):
    """Returns the model of a checkpoint that one rank has written."""
    with open(f"{path}/marker", "rb") as file:
        head = struct.unpack(HEADER, file.read(struct.calcsize(HEADER)))
    assert head[15] == 1, "several ranks wrote the checkpoint"
    shape = head[2:11]
    with open(f"{path}/rank_0", "rb") as file:
        numbers = torch.frombuffer(bytearray(file.read(4 * head[11])), dtype=torch.float32)
    model = Model(*shape)
    at = 0

    def take(*sizes):
        nonlocal at
        count = torch.Size(sizes).numel()
        at += count
        return nn.Parameter(numbers[at - count:at].view(sizes))

    vocabulary, width, _, _, _, hidden, loops, tied, _ = shape
    model.norm = take(width) if loops == 1 else None
    for block in model.blocks:
        block.norm1, block.norm2 = take(width), take(width)
    model.tokens = take(vocabulary, width)
    model.head = model.tokens if tied else take(vocabulary, width)
    for block in model.blocks:
        block.qkv.weight = nn.Parameter(take(width, block.qkv.out_features).t())
        block.out.weight = nn.Parameter(take(width, width).t())
        block.up.weight = nn.Parameter(take(width, 2 * hidden).t())
        block.down.weight = nn.Parameter(take(hidden, width).t())
    assert at == head[11], "the file has other weights"
    return model


@torch.no_grad()
def loss(checkpoint, path):
    model = read(checkpoint)
    table = model.table("cpu", torch.float32)
    with open(path, "rb") as file:
        ids = torch.tensor(list(file.read()))
    length = model.sequence
    count = (len(ids) - 1) // length
    rows = torch.stack([ids[i * length:i * length + length + 1] for i in range(count)])
    print(f"{model(rows[:, :-1], rows[:, 1:], table).item():.6f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["speed"] and len(sys.argv) in (5, 6):
        speed(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), len(sys.argv) == 5)
    elif sys.argv[1:2] == ["loss"] and len(sys.argv) == 4:
        loss(*sys.argv[2:])
    else:
        sys.exit(__doc__)
