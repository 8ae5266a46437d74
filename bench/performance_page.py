"""Writes what bench/performance.py measured into docs/performance.md, between its markers, and the plots beside it."""
import math
import re
import statistics
from xml.sax.saxutils import escape

from performance_rows import WHY

PEERS = {"torch": "PyTorch", "compiled": "torch.compile", "numpy": "NumPy", "jax": "JAX"}
COLOURS = {"torch": "#d9822b", "compiled": "#8a5a2b", "numpy": "#3f7cac", "jax": "#4f9d69"}
LEVEL = (0.95, 1.05)   # the ratios between these are no difference
SHORT = 20.0           # microseconds: the reader of programs takes a good part of less


# --- numbers

def digits(value):
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def duration(us):
    return f"{digits(us)} µs" if us < 1000 else f"{digits(us / 1000)} ms"


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def share(row, limits):
    """The part of the machine's limit that Tenon reaches: the least time that memory or arithmetic needs, over its own."""
    copies = {int(size): rate for size, rate in limits["copy"].items()}
    nearest = min(copies, key=lambda size: abs(math.log(size / max(1, row["bytes"]))))
    seconds = max(row["bytes"] / copies[nearest] / 1e9, row["flops"] / limits["fma"] / 1e9)
    return f"{100 * seconds / (row['us']['tenon'] * 1e-6):.0f} %" if row["us"]["tenon"] >= SHORT else ""


# --- tables

def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| --- " + "| ---: " * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows])


def groups_of(rows):
    return list(dict.fromkeys(row["group"] for row in rows))


def counted(ratios):
    if not ratios:
        return ""
    faster, slower = sum(r > LEVEL[1] for r in ratios), sum(r < LEVEL[0] for r in ratios)
    return f"**{mean(ratios):.2f}**, {faster} / {len(ratios) - faster - slower} / {slower}"


def summary(rows, used):
    lines = []
    for group in groups_of(rows) + ["all"]:
        part = [row for row in rows if group in (row["group"], "all")]
        ratios = {p: [row["ratio"][p] for row in part if p in row["ratio"]] for p in used}
        best = [min(row["ratio"][p] for p in used if p in row["ratio"]) for row in part]
        lines.append([group, str(len(part)), *(counted(ratios[p]) for p in used), counted(best)])
    return table(["group", "rows", *(PEERS[p] for p in used), "the quickest of them"], lines)


def cells_of(row, used):
    ratios = [row["ratio"].get(p) for p in used]
    return ["" if r is None else f"**{r:.2f}**" if r < LEVEL[0] else f"{r:.2f}" for r in ratios]


def slower(rows, used):
    found = sorted((min(row["ratio"][p] for p in used if p in row["ratio"]), f"{row['group']}: {row['name']}", row) for row in rows)
    lines = []
    for least, title, row in found:
        if least < LEVEL[0]:
            why = next((text for pattern, text in WHY if re.search(pattern, title)), "")
            lines.append([title, duration(row["us"]["tenon"]), *cells_of(row, used), why])
    head, *rest = table(["row", "Tenon", *(PEERS[p] for p in used), "why, where it is known"], lines).split("\n")
    return "\n".join([head, rest[0].removesuffix(" ---: |") + " --- |", *rest[1:]])


def full(rows, used, limits):
    parts = []
    for group in groups_of(rows):
        lines = [[row["name"], duration(row["us"]["tenon"]), *cells_of(row, used), share(row, limits)] for row in rows if row["group"] == group]
        parts.append(f"### {group}\n\n" + table(["row", "Tenon", *(PEERS[p] for p in used), "of the limit"], lines))
    return "\n\n".join(parts)


def limits_text(limits):
    copies = ", ".join(f"{rate:.0f} GB/s at {size // 1024:,} KB" for size, rate in ((int(s), r) for s, r in limits["copy"].items()))
    return f"multiplies and adds of float32: {limits['fma']:.0f} GFLOP/s; a copy, bytes read and written together: {copies}."


# --- plots: bars that start at 1 on a logarithmic axis

class Plot:
    LEFT, WIDTH, LINE = 300, 560, 14

    def __init__(self, title, low, high):
        self.parts, self.y, self.low, self.high = [], 64, low, high
        self.text(10, 22, title, 15, weight="bold")

    def text(self, x, y, text, size=11, anchor="start", weight="normal"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}">{escape(text)}</text>')

    def x(self, value):
        value = min(max(value, self.low), self.high)
        return self.LEFT + self.WIDTH * math.log(value / self.low) / math.log(self.high / self.low)

    def bar(self, label, value, colour):
        a, b = sorted((self.x(1), self.x(value)))
        self.parts.append(f'<rect x="{a:.1f}" y="{self.y + 2}" width="{max(1, b - a):.1f}" height="{self.LINE - 4}" fill="{colour}"/>')
        if label:
            self.text(self.LEFT - 8, self.y + 11, label, anchor="end")
        self.text(self.LEFT + self.WIDTH + 8, self.y + 11, f"{value:.2f}")
        self.y += self.LINE

    def heading(self, text):
        self.y += 8
        self.text(self.LEFT - 8, self.y + 11, text, 12, "end", "bold")
        self.y += self.LINE + 2

    def legend(self, used):
        for i, p in enumerate(used):
            self.parts.append(f'<rect x="{self.LEFT + 120 * i}" y="30" width="10" height="10" fill="{COLOURS[p]}"/>')
            self.text(self.LEFT + 120 * i + 15, 39, PEERS[p])

    def svg(self):
        lines, height = [], self.y + 16
        for k in range(round(math.log2(self.low)), round(math.log2(self.high)) + 1):
            x, colour = self.x(2.0 ** k), "#333" if k == 0 else "#ddd"
            lines.append(f'<line x1="{x:.1f}" y1="60" x2="{x:.1f}" y2="{self.y + 4}" stroke="{colour}"/>')
            lines.append(f'<text x="{x:.1f}" y="55" font-size="10" text-anchor="middle">{f"{2 ** k}x" if k >= 0 else f"1/{2 ** -k}"}</text>')
        width = self.LEFT + self.WIDTH + 60
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif">\n'
                f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(lines + self.parts) + "\n</svg>\n")


def plot_of_groups(rows, used):
    plot = Plot("How many times as long the others take, by group (geometric means)", 0.5, 8)
    plot.legend(used)
    for group in groups_of(rows) + ["all"]:
        label = group
        for p in used:
            ratios = [row["ratio"][p] for row in rows if group in (row["group"], "all") and p in row["ratio"]]
            if ratios:
                plot.bar(label, mean(ratios), COLOURS[p])
                label = ""
        plot.y += 8
    return plot.svg()


def plot_of_rows(rows):
    plot = Plot("How many times as long PyTorch takes, row by row", 0.125, 32)
    for group in groups_of(rows):
        plot.heading(group)
        for row in sorted((r for r in rows if r["group"] == group), key=lambda r: -r["ratio"]["torch"]):
            plot.bar(row["name"], row["ratio"]["torch"], COLOURS["torch"] if row["ratio"]["torch"] >= LEVEL[0] else "#b33a3a")
    return plot.svg()


# --- the page

def write(known, folder):
    rows = [row for row in known["rows"].values() if row["us"]]
    used = [p for p in PEERS if any(p in row["ratio"] for row in rows)]
    texts = {"machine": f"{known['machine']}. {known['versions']}. {known['rounds']} rounds. Limits of a core: {limits_text(known['limits'])}",
             "summary": summary(rows, used), "slower": slower(rows, used), "rows": full(rows, used, known["limits"])}
    if "training" in known:
        texts["training"] = "```text\n" + known["training"].rstrip() + "\n```"
    page = (folder / "performance.md").read_text()
    for name, text in texts.items():
        marked = re.compile(rf"(<!-- measured: {name} -->\n).*?(<!-- end -->)", re.S)
        assert marked.search(page), f"docs/performance.md has no place for {name}"
        page = marked.sub(lambda m: m[1] + text + "\n" + m[2], page)
    (folder / "performance.md").write_text(page)
    (folder / "performance_groups.svg").write_text(plot_of_groups(rows, used))
    (folder / "performance_rows.svg").write_text(plot_of_rows(rows))
