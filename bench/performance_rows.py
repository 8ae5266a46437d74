"""The rows of bench/performance.py: a name, inputs that NumPy draws, and a program, which PyTorch and Tenon read as it stands.

NumPy and JAX run the same text with xp for torch, unless the row has other texts: both=, numpy= or jax=, of which a library may have
none. `let` makes more variables out of the inputs. `flops` are floating-point operations, where arithmetic is the limit and not
memory. In the inputs, randn and rand draw float32, below(n, ...) integers of int64 from 0 to n - 1; M = (4096, 1024)."""
import dataclasses

SAME = "the same text"


@dataclasses.dataclass
class Row:
    group: str
    name: str
    inputs: str
    text: str
    texts: dict      # of numpy and jax, where they have one
    let: str
    flops: float
    tolerance: float


ROWS = []


def translated(text):
    return text.replace(".to(torch.", ".astype(torch.").replace("torch.", "xp.")


def group(title):
    def row(name, inputs, text, both=SAME, numpy=None, jax=None, let="", flops=0.0):
        if numpy or jax:
            both = None
        both = translated(text) if both == SAME else both
        texts = {library: given or both for library, given in (("numpy", numpy), ("jax", jax)) if given or both}
        half = "float16" in let + text
        if half:
            texts.pop("numpy", None)   # it has no bfloat16, and counts in float16 one by one
        ROWS.append(Row(title, name, inputs, text, texts, let, flops, 2e-2 if half else 2e-4))
    return row


# --- elementwise

row = group("Elementwise")
CHAIN = "torch.clip(x / (torch.abs((x * y + x) * 0.5 - y) + 1), -0.5, 0.5) * y"
for n in (1000, 100_000, 10_000_000):
    row(f"chain of 9, {n:,}", f"x = randn({n}); y = randn({n})", CHAIN)
row("chain of 9, bfloat16", "x = randn(10_000_000); y = randn(10_000_000)", CHAIN.replace("x", "a").replace("y", "b"),
    let="a = x.to(torch.bfloat16); b = y.to(torch.bfloat16)")
row("chain of 9, float16", "x = randn(10_000_000); y = randn(10_000_000)", CHAIN.replace("x", "a").replace("y", "b"),
    let="a = x.to(torch.float16); b = y.to(torch.float16)")
row("x + y", "x = randn(10_000_000); y = randn(10_000_000)", "x + y")
for name in ("exp", "log", "sqrt", "sin", "cos", "tanh"):
    row(name, f"x = {'rand' if name in ('log', 'sqrt') else 'randn'}(10_000_000)", f"torch.{name}(x)")
row("exp, float64", "x = randn(5_000_000)", "torch.exp(a)", let="a = x.to(torch.float64)")
row("erf", "x = randn(10_000_000)", "torch.erf(x)", jax="jax.scipy.special.erf(x)")
row("sigmoid", "x = randn(10_000_000)", "torch.sigmoid(x)", "1 / (1 + xp.exp(-x))")
row("gelu", "x = randn(10_000_000)", "F.gelu(x)", jax="jax.nn.gelu(x, approximate=False)")
row("silu", "x = randn(10_000_000)", "F.silu(x)", "x / (1 + xp.exp(-x))")
row("x ** y", "x = rand(5_000_000); y = randn(5_000_000)", "x ** y")
row("x ** 2.5", "x = rand(5_000_000)", "x ** 2.5")
row("where", "x = randn(10_000_000); y = randn(10_000_000)", "torch.where(x > 0, x * 2, x - y)")
row("two comparisons", "x = randn(10_000_000); y = randn(10_000_000)", "(x > 0) & (y < 0.5)")
row("scale and shift rows", "x = randn(*M); a = randn(1024); b = randn(1024)", "x * a + b")
row("x + x.t(), 4096", "x = randn(4096, 4096)", "x + x.t()", "x + x.T")
row("int64: (i * 3 + j) ^ i", "i = below(1000, 5_000_000); j = below(1000, 5_000_000)", "(i * 3 + j) ^ i")
row("int64: i // 7 + i % 7", "i = below(1_000_000, 5_000_000)", "i // 7 + i % 7")
row("to bfloat16", "x = randn(10_000_000)", "x.to(torch.bfloat16)")

# --- reductions

row = group("Reductions")
row("sum, 1e7", "x = randn(10_000_000)", "x.sum()")
row("sum of squares, 1e7", "x = randn(10_000_000)", "(x * x).sum()")
row("max, 1e7", "x = randn(10_000_000)", "x.max()")
row("variance, 1e7", "x = randn(10_000_000)", "torch.var(x)", "xp.var(x, ddof=1)")
row("norm, 1e6", "x = randn(1_000_000)", "torch.linalg.norm(x)")
row("argmax, 1e7", "x = randn(10_000_000)", "x.argmax()")
row("sum of int64", "i = below(1000, 10_000_000)", "i.sum()")
row("sum of bfloat16", "x = randn(10_000_000)", "a.sum()", let="a = x.to(torch.bfloat16)")
for name in ("sum", "argmax", "cumsum"):
    row(f"{name}(0) of M", "x = randn(*M)", f"x.{name}(0)")
    row(f"{name}(1) of M", "x = randn(*M)", f"x.{name}(1)")
row("cumsum, 1e7", "x = randn(10_000_000)", "x.cumsum(0)")
row("sum(0) of 1e6 x 3", "x = randn(1_000_000, 3)", "x.sum(0)")
row("sum(1) of 1e6 x 3", "x = randn(1_000_000, 3)", "x.sum(1)")
row("sum(0) of 3 x 1e6", "x = randn(3, 1_000_000)", "x.sum(0)")
row("var(0) of M", "x = randn(*M)", "torch.var(x, 0)", "xp.var(x, 0, ddof=1)")
row("var(1) of M", "x = randn(*M)", "torch.var(x, 1)", "xp.var(x, 1, ddof=1)")
row("any(1) of M", "x = randn(*M)", "(x > 4).any(1)")
row("prod(1) of M", "x = rand(*M) + 0.5", "x.prod(1)")
row("mean of images", "x = randn(64, 64, 32, 32)", "x.mean((2, 3))")
SOFTMAX = "(lambda e: e / e.sum({0}, keepdims=True))(np.exp(x - x.max({0}, keepdims=True)))"
row("softmax(0) of M", "x = randn(*M)", "torch.softmax(x, 0)", numpy=SOFTMAX.format(0), jax="jax.nn.softmax(x, 0)")
row("softmax(1) of M", "x = randn(*M)", "torch.softmax(x, 1)", numpy=SOFTMAX.format(1), jax="jax.nn.softmax(x, 1)")
row("softmax(1) of 256 x 50257", "x = randn(256, 50257)", "torch.softmax(x, 1)", numpy=SOFTMAX.format(1), jax="jax.nn.softmax(x, 1)")
row("log_softmax(1) of M", "x = randn(*M)", "torch.log_softmax(x, 1)", jax="jax.nn.log_softmax(x, 1)")
row("logsumexp(1) of M", "x = randn(*M)", "torch.logsumexp(x, 1)", jax="jax.nn.logsumexp(x, 1)")
row("layer_norm of M", "x = randn(*M); a = randn(1024); b = randn(1024)", "F.layer_norm(x, [1024], a, b)",
    "(x - x.mean(1, keepdims=True)) / xp.sqrt(x.var(1, keepdims=True) + 1e-5) * a + b")
row("batch_norm, training", "x = randn(32, 64, 32, 32); a = randn(64); b = randn(64)", "F.batch_norm(x, None, None, a, b, True)",
    "(x - x.mean((0, 2, 3), keepdims=True)) / xp.sqrt(x.var((0, 2, 3), keepdims=True) + 1e-5) * a[:, None, None] + b[:, None, None]")
row("cross_entropy of M", "x = randn(*M); i = below(1024, 4096)", "F.cross_entropy(x, i)",
    jax="(jax.nn.logsumexp(x, 1) - xp.take_along_axis(x, i[:, None], 1)[:, 0]).mean()")
row("mse_loss, 1e7", "x = randn(10_000_000); y = randn(10_000_000)", "F.mse_loss(x, y)", "((x - y) ** 2).mean()")

# --- movement, indices, order

row = group("Movement and order")
row("cat(0) of two M", "x = randn(*M); y = randn(*M)", "torch.cat([x, y], 0)", "xp.concatenate([x, y], 0)")
row("cat(1) of two M", "x = randn(*M); y = randn(*M)", "torch.cat([x, y], 1)", "xp.concatenate([x, y], 1)")
row("cat of 32 rows of 10,000", "x = randn(32, 10_000)", "torch.cat(r, 0)", "xp.concatenate(r, 0)", let="r = [x[i] for i in range(32)]")
row("transpose, 4096", "x = randn(4096, 4096)", "x.t().contiguous()", numpy="np.ascontiguousarray(x.T)", jax="x.T")
row("NCHW to NHWC", "x = randn(32, 64, 56, 56)", "x.permute(0, 2, 3, 1).contiguous()", numpy="np.ascontiguousarray(x.transpose(0, 2, 3, 1))",
    jax="x.transpose(0, 2, 3, 1)")
row("NHWC to NCHW", "x = randn(32, 56, 56, 64)", "x.permute(0, 3, 1, 2).contiguous()", numpy="np.ascontiguousarray(x.transpose(0, 3, 1, 2))",
    jax="x.transpose(0, 3, 1, 2)")
row("every other element", "x = randn(10_000_000)", "x[::2] + 1")
row("flip(1) of M", "x = randn(*M)", "torch.flip(x, [1])", numpy="np.flip(x, 1).copy()", jax="xp.flip(x, 1)")
row("roll, 1e7", "x = randn(10_000_000)", "torch.roll(x, 1000, 0)")
row("pad 3000 x 3000", "x = randn(3000, 3000)", "F.pad(x, [1, 1, 1, 1])", "xp.pad(x, 1)")
row("tril, 4096", "x = randn(4096, 4096)", "torch.tril(x)")
row("embedding", "x = randn(50_000, 128); i = below(50_000, 8192)", "F.embedding(i, x)", "x[i]")
row("x[i], 1e6", "x = randn(1_000_000); i = below(1_000_000, 1_000_000)", "x[i]")
row("gather(1) of M", "x = randn(*M); i = below(1024, *M)", "torch.gather(x, 1, i)", "xp.take_along_axis(x, i, 1)")
row("index_select(1) of M", "x = randn(*M); i = below(1024, 512)", "torch.index_select(x, 1, i)", "x[:, i]")
row("index_add, rows", "x = randn(50_000, 64); i = below(50_000, 50_000); y = randn(50_000, 64)", "torch.index_add(x, 0, i, y)",
    jax="x.at[i].add(y)")
row("scatter_add, 1e6", "x = randn(1_000_000); i = below(1_000_000, 1_000_000); y = randn(1_000_000)", "torch.scatter_add(x, 0, i, y)",
    jax="x.at[i].add(y)")
row("bincount, 1e6", "i = below(1000, 1_000_000)", "torch.bincount(i)", numpy="np.bincount(i)", jax="xp.bincount(i, length=1000)")
row("one_hot", "i = below(100, 50_000)", "F.one_hot(i, 100)", jax="jax.nn.one_hot(i, 100, dtype='int64')")
row("masked_select", "x = randn(5_000_000)", "x[x > 0]", numpy="x[x > 0]")
row("nonzero", "x = randn(5_000_000)", "torch.nonzero(x > 0)", numpy="np.argwhere(x > 0)")
row("sort, 1e6", "x = randn(1_000_000)", "torch.sort(x)[0]", "xp.sort(x)")
row("sort(1) of M", "x = randn(*M)", "torch.sort(x, 1)[0]", "xp.sort(x, 1)")
row("sort of int64, 1e6", "i = below(1_000_000_000, 1_000_000)", "torch.sort(i)[0]", "xp.sort(i)")
row("argsort, 1e6", "x = randn(1_000_000)", "torch.argsort(x, dim=0, stable=True)", "xp.argsort(x, stable=True)")
row("topk of 256 x 50257", "x = randn(256, 50257)", "torch.topk(x, 10, 1)[0]", jax="jax.lax.top_k(x, 10)[0]")
row("unique, 1e6", "i = below(10_000, 1_000_000)", "torch.unique(i)", numpy="np.unique(i)")
row("searchsorted", "x = randn(500_000); e = sorted(randn(10_000))", "torch.searchsorted(e, x)", "xp.searchsorted(e, x)")

# --- products

row = group("Products")
for n in (32, 64, 128, 256, 512, 1024, 2048):
    row(f"{n} x {n}", f"x = randn({n}, {n}); y = randn({n}, {n})", "x @ y", flops=2.0 * n ** 3)
for kind in ("float64", "bfloat16", "float16"):
    row(f"1024 x 1024, {kind}", "x = randn(1024, 1024); y = randn(1024, 1024)", "a @ b", let=f"a = x.to(torch.{kind}); b = y.to(torch.{kind})",
        flops=2.0 * 1024 ** 3)   # of the rate in float32
row("512 x 512, int32", "i = below(100, 512, 512); j = below(100, 512, 512)", "a @ b", let="a = i.to(torch.int32); b = j.to(torch.int32)")
row("x @ y.t(), 1024", "x = randn(1024, 1024); y = randn(1024, 1024)", "x @ y.t()", "x @ y.T", flops=2.0 * 1024 ** 3)
row("x.t() @ y, 1024", "x = randn(1024, 1024); y = randn(1024, 1024)", "x.t() @ y", "x.T @ y", flops=2.0 * 1024 ** 3)
row("x.t() @ y, 16384 deep, 192", "x = randn(16384, 192); y = randn(16384, 192)", "x.t() @ y", "x.T @ y", flops=2.0 * 16384 * 192 ** 2)
row("64 x 65536 x 64", "x = randn(64, 65536); y = randn(65536, 64)", "x @ y", flops=2.0 * 65536 * 64 ** 2)
row("4096 x 128 x 4096", "x = randn(4096, 128); y = randn(128, 4096)", "x @ y", flops=2.0 * 128 * 4096 ** 2)
for m in (1, 2, 8, 32, 64):
    row(f"linear, {m} x 1024 x 1024", f"x = randn({m}, 1024); w = randn(1024, 1024); b = randn(1024)", "F.linear(x, w, b)", "x @ w.T + b",
        flops=2.0 * m * 1024 ** 2)
for m in (2, 8, 64):
    row(f"{m} x 1024 x 1024", f"x = randn({m}, 1024); w = randn(1024, 1024)", "x @ w", flops=2.0 * m * 1024 ** 2)
row("linear + relu, 256 x 512 x 1024", "x = randn(256, 512); w = randn(1024, 512); b = randn(1024)", "F.relu(F.linear(x, w, b))",
    "xp.maximum(x @ w.T + b, 0)", flops=2.0 * 256 * 512 * 1024)
row("linear + gelu, 512 x 768 x 3072", "x = randn(512, 768); w = randn(3072, 768) * 0.03; b = randn(3072)", "F.gelu(F.linear(x, w, b))",
    jax="jax.nn.gelu(x @ w.T + b, approximate=False)", flops=2.0 * 512 * 768 * 3072)
row("matrix x vector, 4096", "x = randn(4096, 4096); y = randn(4096)", "x @ y")
row("64 of 64 x 64 x 64", "x = randn(64, 64, 64); y = randn(64, 64, 64)", "x @ y", flops=2.0 * 64 ** 4)
row("1024 of 16 x 16 x 16", "x = randn(1024, 16, 16); y = randn(1024, 16, 16)", "x @ y", flops=2.0 * 1024 * 16 ** 3)
row("dot, 1e6", "x = randn(1_000_000); y = randn(1_000_000)", "torch.dot(x, y)")
row("outer, 3000", "x = randn(3000); y = randn(3000)", "torch.outer(x, y)")
row("cdist, 1000 x 1000, 64 wide", "x = randn(1000, 64); y = randn(1000, 64)", "torch.cdist(x, y)",
    "xp.sqrt(xp.maximum((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * (x @ y.T), 0))", flops=2.0 * 64 * 1000 ** 2)
ATTENTION = "x = randn(8, 8, 256, 64); y = randn(8, 8, 256, 64); z = randn(8, 8, 256, 64)"
JAX_ATTENTION = "jax.nn.softmax({} / 8, -1) @ z"
row("attention, 64 heads of 256 x 64", ATTENTION, "F.scaled_dot_product_attention(x, y, z)",
    jax=JAX_ATTENTION.format("x @ y.swapaxes(2, 3)"), flops=4.0 * 64 * 256 * 256 * 64)
row("causal attention, the same", ATTENTION, "F.scaled_dot_product_attention(x, y, z, is_causal=True)",
    jax=JAX_ATTENTION.format("xp.where(xp.tri(256) > 0, x @ y.swapaxes(2, 3), -xp.inf)"))

# --- convolution and pooling

row = group("Convolution and pooling")
JAX_CONV = "jax.lax.conv_general_dilated(x, w, ({0}, {0}), [({1}, {1})] * 2)"


def convolution(name, batch, inputs, outputs, size, kernel, stride=1, padding=0):
    out = (size + 2 * padding - kernel) // stride + 1
    row(name, f"x = randn({batch}, {inputs}, {size}, {size}); w = randn({outputs}, {inputs}, {kernel}, {kernel}) * 0.1",
        f"F.conv2d(x, w, None, {stride}, {padding})", jax=JAX_CONV.format(stride, padding),
        flops=2.0 * batch * outputs * out * out * inputs * kernel * kernel)


convolution("3x3, 3 to 32, 32 of 64x64", 32, 3, 32, 64, 3, padding=1)
convolution("3x3, 16 to 32, 32 of 28x28", 32, 16, 32, 28, 3, padding=1)
convolution("3x3, 32 to 64, 64 of 32x32", 64, 32, 64, 32, 3, padding=1)
convolution("3x3, 64 to 128, 32 of 28x28", 32, 64, 128, 28, 3, padding=1)
convolution("3x3, 64 to 128, 256 of 8x8", 256, 64, 128, 8, 3, padding=1)
convolution("3x3 by 2, 64 to 128, 32 of 28x28", 32, 64, 128, 28, 3, 2, 1)
convolution("1x1, 64 to 128, 64 of 28x28", 64, 64, 128, 28, 1)
convolution("3x3, 64 to 64, one of 56x56", 1, 64, 64, 56, 3, padding=1)
convolution("7x7 by 2, 3 to 64, 8 of 224x224", 8, 3, 64, 224, 7, 2, 3)
convolution("5x5, 6 to 16, 64 of 14x14", 64, 6, 16, 14, 5, padding=3)
row("depthwise 3x3, 64 of 64 x 28x28", "x = randn(64, 64, 28, 28); w = randn(64, 1, 3, 3)", "F.conv2d(x, w, None, 1, 1, 1, 64)",
    jax="jax.lax.conv_general_dilated(x, w, (1, 1), [(1, 1)] * 2, feature_group_count=64)")
row("transposed 3x3 by 2, 64 to 32, 16 of 28x28", "x = randn(16, 64, 28, 28); w = randn(64, 32, 3, 3) * 0.1",
    "F.conv_transpose2d(x, w, None, 2, 1)", both=None, flops=2.0 * 16 * 64 * 28 * 28 * 32 * 9)
row("conv1d 5, 64 to 64, 16 of 2048", "x = randn(16, 64, 2048); w = randn(64, 64, 5) * 0.1", "F.conv1d(x, w, None, 1, 2)",
    jax="jax.lax.conv_general_dilated(x, w, (1,), [(2, 2)])", flops=2.0 * 16 * 64 * 2048 * 64 * 5)
IMAGES = "x = randn(256, 32, 32, 32)"
row("max_pool 2x2", IMAGES, "F.max_pool2d(x, 2)",
    jax="jax.lax.reduce_window(x, -xp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), 'VALID')")
row("max_pool 3x3 by 2", "x = randn(32, 64, 56, 56)", "F.max_pool2d(x, 3, 2, 1)",
    jax="jax.lax.reduce_window(x, -xp.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 2, 2), [(0, 0), (0, 0), (1, 1), (1, 1)])")
row("avg_pool 2x2", IMAGES, "F.avg_pool2d(x, 2)",
    jax="jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 1, 2, 2), (1, 1, 2, 2), 'VALID') / 4")
row("bilinear, to twice the size", "x = randn(16, 16, 64, 64)", "F.interpolate(x, scale_factor=2.0, mode='bilinear')", both=None)

# --- programs

row = group("Programs")
row("1 operation on 16 elements", "x = randn(16)", "x + 1")
row("20 operations on 16 elements", "x = randn(16)", "torch.tanh(" * 5 + "x" + " * 0.5 + 1 - x)" * 5)
MLP = "; ".join(f"{w} = randn({n}, {k}) * 0.05; {b} = randn({n})" for w, b, n, k in
                (("u", "a", 512, 784), ("v", "b", 512, 512), ("w", "c", 10, 512)))
for m in (1, 64):
    row(f"MLP of 3 layers, {m} rows", f"x = randn({m}, 784); " + MLP, "F.linear(F.relu(F.linear(F.relu(F.linear(x, u, a)), v, b)), w, c)",
        "xp.maximum(xp.maximum(x @ u.T + a, 0) @ v.T + b, 0) @ w.T + c", flops=2.0 * m * (784 * 512 + 512 * 512 + 512 * 10))
row("CNN of 2 layers, 64 images", "x = randn(64, 3, 32, 32); u = randn(32, 3, 3, 3) * 0.2; v = randn(64, 32, 3, 3) * 0.1",
    "F.max_pool2d(F.relu(F.conv2d(F.max_pool2d(F.relu(F.conv2d(x, u, None, 1, 1)), 2), v, None, 1, 1)), 2)", both=None,
    flops=2.0 * 64 * 9 * (32 * 32 * 32 * 3 + 16 * 16 * 64 * 32))
HEADS = "F.linear({}, u).reshape(8, 128, 8, 64).transpose(1, 2)"
row("encoder block, 8 x 128 x 512", "x = randn(8, 128, 512); a = randn(512); u = randn(512, 512) * 0.04; v = randn(2048, 512) * 0.04; "
    "w = randn(512, 2048) * 0.02",
    "(lambda y: y + F.linear(F.gelu(F.linear(F.layer_norm(y, [512], a), v)), w))(x + F.linear(F.scaled_dot_product_attention("
    + ", ".join(HEADS.format("F.layer_norm(x, [512], a)") for _ in range(3)) + ").transpose(1, 2).reshape(8, 128, 512), u))", both=None,
    flops=8.0 * 128 * (2.0 * 512 * (4 * 512 + 2 * 2048) + 4.0 * 128 * 512))
row("Adam step written out, 1e6", "p = randn(1_000_000); g = randn(1_000_000); m = randn(1_000_000); v = rand(1_000_000)",
    "p - 0.001 * (m * 0.9 + g * 0.1) / (torch.sqrt(v * 0.999 + g * g * 0.001) + 1e-8)")
row("stencil of 5 points, 1024", "x = randn(1024, 1024)",
    "torch.roll(x, 1, 0) + torch.roll(x, -1, 0) + torch.roll(x, 1, 1) + torch.roll(x, -1, 1) - x * 4")
row("k-means: assignment, 1e5 x 8 to 16", "x = randn(100_000, 8); y = randn(16, 8)", "((x[:, None] - y) ** 2).sum(2).argmin(1)")
row("option prices, 1e6", "s = rand(1_000_000) * 50 + 75; t = rand(1_000_000) + 0.1",
    "(lambda d: s * 0.5 * (1 + torch.erf(d * 0.7071)) - 100 * torch.exp(-0.05 * t) * 0.5 * (1 + torch.erf((d - 0.2 * torch.sqrt(t)) * 0.7071)))"
    "((torch.log(s / 100) + 0.07 * t) / (0.2 * torch.sqrt(t)))",
    jax="(lambda d: s * 0.5 * (1 + jax.scipy.special.erf(d * 0.7071)) - 100 * xp.exp(-0.05 * t) * 0.5 * (1 + jax.scipy.special.erf("
    "(d - 0.2 * xp.sqrt(t)) * 0.7071)))((xp.log(s / 100) + 0.07 * t) / (0.2 * xp.sqrt(t)))")

# --- gradients: forward and backward, of the sum of the result times v

row = group("Gradients, with the forward pass")


def gradients(name, inputs, function, jax=None, flops=0.0, of="x"):
    """`function` has its variables g, ... in place of those of `of`, which require a gradient."""
    names = dict(zip(of, "ghk"))
    for plain, leaf in names.items():
        function = function.replace(f"<{plain}>", leaf)
    text = f"torch.autograd.grad(({function} * v).sum(), [{', '.join(names.values())}])"
    numbers = tuple(range(len(of))) if len(of) > 1 else 0
    row(name, inputs, text, both=None, jax=jax and f"jax.grad(lambda {', '.join(of)}: ({jax} * v).sum(), {numbers})({', '.join(of)})",
        let="; ".join(f"{leaf} = {plain}.clone().requires_grad_()" for plain, leaf in names.items()), flops=flops)


OF_M = "x = randn(*M); v = randn(*M)"
gradients("gelu of M", OF_M, "F.gelu(<x>)", "jax.nn.gelu(x, approximate=False)")
gradients("softmax(1) of M", OF_M, "torch.softmax(<x>, 1)", "jax.nn.softmax(x, 1)")
gradients("layer_norm of M", OF_M, "F.layer_norm(<x>, [1024])", "((x - x.mean(1, keepdims=True)) / xp.sqrt(x.var(1, keepdims=True) + 1e-5))")
gradients("batch_norm, training", "x = randn(32, 64, 32, 32); v = randn(32, 64, 32, 32)", "F.batch_norm(<x>, None, None, None, None, True)",
          "((x - x.mean((0, 2, 3), keepdims=True)) / xp.sqrt(x.var((0, 2, 3), keepdims=True) + 1e-5))")
gradients("cross_entropy of M", "x = randn(*M); i = below(1024, 4096); v = rand(1)", "F.cross_entropy(<x>, i)",
          "(jax.nn.logsumexp(x, 1) - xp.take_along_axis(x, i[:, None], 1)[:, 0]).mean()")
gradients("embedding, 8,192 of 50,000 x 128", "x = randn(50_000, 128); i = below(50_000, 8192); v = randn(8192, 128)", "F.embedding(i, <x>)", "x[i]")
gradients("linear, 256 x 1024 x 1024", "x = randn(256, 1024); w = randn(1024, 1024); v = randn(256, 1024)", "F.linear(<x>, <w>)", "(x @ w.T)",
          6.0 * 256 * 1024 ** 2, "xw")
gradients("linear, 32 x 512 x 512", "x = randn(32, 512); w = randn(512, 512); v = randn(32, 512)", "F.linear(<x>, <w>)", "(x @ w.T)",
          6.0 * 32 * 512 ** 2, "xw")
gradients("attention, 64 heads of 256 x 64", ATTENTION + "; v = randn(8, 8, 256, 64)", "F.scaled_dot_product_attention(<x>, <y>, <z>)",
          "(" + JAX_ATTENTION.format("x @ y.swapaxes(2, 3)") + ")", 12.0 * 64 * 256 * 256 * 64, "xyz")
for name, batch, inputs, outputs, size, stride in (("3x3, 64 to 64, 32 of 32x32", 32, 64, 64, 32, 1), ("3x3, 32 to 64, 64 of 16x16", 64, 32, 64, 16, 1),
                                                   ("3x3 by 2, 64 to 128, 32 of 28x28", 32, 64, 128, 28, 2)):
    out = (size - 1) // stride + 1
    gradients(name, f"x = randn({batch}, {inputs}, {size}, {size}); w = randn({outputs}, {inputs}, 3, 3); v = randn({batch}, {outputs}, {out}, {out})",
              f"F.conv2d(<x>, <w>, None, {stride}, 1)", JAX_CONV.format(stride, 1), 6.0 * batch * outputs * out * out * inputs * 9, "xw")
gradients("depthwise 3x3, 16 of 64 x 28x28", "x = randn(16, 64, 28, 28); w = randn(64, 1, 3, 3); v = randn(16, 64, 28, 28)",
          "F.conv2d(<x>, <w>, None, 1, 1, 1, 64)", "jax.lax.conv_general_dilated(x, w, (1, 1), [(1, 1)] * 2, feature_group_count=64)", of="xw")
gradients("max_pool 2x2", "x = randn(64, 32, 32, 32); v = randn(64, 32, 16, 16)", "F.max_pool2d(<x>, 2)",
          "jax.lax.reduce_window(x, -xp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), 'VALID')")
gradients("max_pool 3x3 by 2", "x = randn(32, 64, 56, 56); v = randn(32, 64, 28, 28)", "F.max_pool2d(<x>, 3, 2, 1)",
          "jax.lax.reduce_window(x, -xp.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 2, 2), [(0, 0), (0, 0), (1, 1), (1, 1)])")
gradients("avg_pool 2x2", "x = randn(64, 32, 32, 32); v = randn(64, 32, 16, 16)", "F.avg_pool2d(<x>, 2)",
          "(jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 1, 2, 2), (1, 1, 2, 2), 'VALID') / 4)")

# --- what is known about rows that may be slower than another library's: a pattern of "group: name", and what the page says

READER = "half of it is the reader of programs; 20 operations on 16 elements take 7 µs in C++ (`bench_small.cpp`)"
WHY = [
    (r"order: sort", "a stable radix sort that carries places along; NumPy sorts the values alone"),
    (r"chain of 9, float16", "operations go through float32 and back; the CPU's own arithmetic in float16 is not used"),
    (r"transposed 3x3 by 2|Gradients.*3x3 by 2, 64", "a step of 2 becomes four convolutions in one, whose weights are padded with zeros, and a copy"),
    (r"Gradients.*max_pool 3x3 by 2", "windows overlap: nine planes of gradients are stored and added"),
    (r"x \*\* ", "computed to half an ulp ([math](math.md)); NumPy's is within one"),
    (r"x\.t\(\) @ y, 1024", "the left operand is turned first, in a pass of its own"),
    (r"bincount", "the minimum and the maximum, and as many ones as there are elements, are passes of their own"),
    (r"cumsum", "an addition an element more, so that every device has the same bits ([kernel](kernel.md))"),
    (r"on 16 elements|9, 1,000$|Products: 32 x 32|Products: 64 x 64$", READER),
]
