"""The figure of Ward's tree, and what the summary shows of shapes."""

from ..clustering.summary import DataSummary, Tree, find_shapes, ward_tree
from . import svg
from .amounts import several
from .svg import Figure, Point, Scale

_WIDTH, _HEIGHT = 680.0, 270.0


def tree_figure(summary: DataSummary, k: int) -> Figure | None:
    """The tree of the micro-clusters, with a line at the cut into k; None if there is no merge."""
    tree, M = ward_tree(summary), len(summary)
    if M < 2:
        return None
    heights = [0.0, *tree.height.tolist()]
    cut = (heights[M - k] + heights[min(M - k + 1, M - 1)]) / 2 if k < M else 0.0
    x = Scale(0.0, M - 1.0, 52.0, _WIDTH - 12.0)
    y = Scale(0.0, 1.04 * heights[-1], _HEIGHT - 12.0, 12.0)
    marks = svg.frame(x, y, [], y.ticks(5))
    for corners in _lines(tree, M):
        marks.append(svg.line([(x.place(a), y.place(b)) for a, b in corners], "curve"))
    marks.append(svg.line([(x.start, y.place(cut)), (x.end, y.place(cut))], "threshold"))
    marks.append(svg.text((x.end, y.place(cut) - 5), several(k, "cluster"), "note", anchor="end"))
    label = (
        f"Ward's tree of {several(M, 'micro-cluster')}. The highest merges have the heights "
        f"{', '.join(f'{h:.3g}' for h in heights[:0:-1][:5])}; the dashed line cuts it into {k}."
    )
    return Figure("tree", svg.drawing(_WIDTH, _HEIGHT, marks), label)


def _lines(tree: Tree, M: int) -> list[list[Point]]:
    """The line of each merge; leaves stand so that none cross."""
    order: list[int] = []
    below = [2 * M - 2]
    while below:
        node = below.pop()
        if node < M:
            order.append(node)
        else:
            below += [int(tree.right[node - M]), int(tree.left[node - M])]
    at = {leaf: (float(place), 0.0) for place, leaf in enumerate(order)}
    lines: list[list[Point]] = []
    for step in range(M - 1):
        (x0, y0), (x1, y1) = at[int(tree.left[step])], at[int(tree.right[step])]
        top = float(tree.height[step])
        lines.append([(x0, y0), (x0, top), (x1, top), (x1, y1)])
        at[M + step] = ((x0 + x1) / 2, top)
    return lines


def shape_words(summary: DataSummary, k: int) -> str:
    """How many clusters of any shape there are, beside the round ones."""
    if not summary.bordered:
        return "Noise would hide the borders of micro-clusters, so shapes are not looked for."
    n = int(find_shapes(summary).max()) + 1
    if n == 1:
        return "No gap without rows separates any clusters: by shape there is one."
    found = f"Joined wherever the border between micro-clusters is dense, they make {n} clusters"
    if n == k:
        return f"{found}, as many as the round ones."
    return f"{found} of any shape, and {k} round ones: look at the map before you choose."
