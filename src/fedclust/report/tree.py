"""The figure of Ward's tree, and what the summary shows of shapes."""

from ..clustering.summary import DataSummary, Tree, find_shapes, ward_tree
from .amounts import several
from .figures import Figure, Spec


def tree_figure(summary: DataSummary, k: int) -> Figure | None:
    """The tree of the micro-clusters, with a line at the cut into k; None if there is no merge."""
    tree, M = ward_tree(summary), len(summary)
    if M < 2:
        return None
    xs, ys = _lines(tree, M)
    line: Spec = {
        "type": "scatter",
        "x": xs,
        "y": ys,
        "mode": "lines",
        "line": {"color": "var(--soft)", "width": 1.5},
        "hoverinfo": "skip",
    }
    heights = [0.0, *tree.height.tolist()]
    cut = (heights[M - k] + heights[min(M - k + 1, M - 1)]) / 2 if k < M else 0.0
    mark = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": cut, "y1": cut}
    layout = {
        "height": 280,
        "margin": {"t": 12, "b": 24, "l": 52, "r": 12},
        "xaxis": {"showticklabels": False, "showgrid": False, "zeroline": False},
        "yaxis": {"title": {"text": "height"}, "nticks": 5, "zeroline": False},
        "shapes": [mark | {"line": {"color": "var(--accent)", "width": 2, "dash": "dot"}}],
    }
    label = (
        f"Ward's tree of {several(M, 'micro-cluster')}. The highest merges have the heights "
        f"{', '.join(f'{h:.3g}' for h in heights[:0:-1][:5])}; the dotted line cuts it into {k}."
    )
    return Figure("tree", [line], layout, label)


def _lines(tree: Tree, M: int) -> tuple[list[float | None], list[float | None]]:
    """Corners of the lines of all merges; None ends a line. Leaves stand so that none cross."""
    order: list[int] = []
    below = [2 * M - 2]
    while below:
        node = below.pop()
        if node < M:
            order.append(node)
        else:
            below += [int(tree.right[node - M]), int(tree.left[node - M])]
    at = {leaf: (float(place), 0.0) for place, leaf in enumerate(order)}
    xs: list[float | None] = []
    ys: list[float | None] = []
    for step in range(M - 1):
        (x0, y0), (x1, y1) = at[int(tree.left[step])], at[int(tree.right[step])]
        top = float(tree.height[step])
        xs += [x0, x0, x1, x1, None]
        ys += [y0, top, top, y1, None]
        at[M + step] = ((x0 + x1) / 2, top)
    return xs, ys


def shape_words(summary: DataSummary, k: int) -> str:
    """How many clusters of any shape there are, beside the round ones."""
    n = int(find_shapes(summary).max()) + 1
    if n == 1:
        return "No gap without rows separates any clusters: by shape there is one."
    found = f"Joined wherever the border between micro-clusters is dense, they make {n} clusters"
    if n == k:
        return f"{found}, as many as the round ones."
    return f"{found} of any shape, and {k} round ones: look at the map before you choose."
