"""Images next to the gradients of a score with respect to their pixels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from torch import Tensor

from labkit.pictures.palette import BLUE, INK, LINE, RED
from labkit.pictures.picture import WIDTH, Drawing, Group, NothingToDrawError, Picture, Table, catch_failures
from labkit.pictures.svg import draw_rect, draw_text, show_only, to_svg

SIDE, TOP, GAP, SHADES = 340.0, 28.0, 60.0, 12
MAX_LISTED = 8  # columns of a table
MAX_PIXELS = 32 * 32


@catch_failures
def show_saliency(images: Mapping[str, Tensor], gradients: Mapping[str, Tensor]) -> Picture:
    """Draw each image, of shape (height, width), and its gradient, which has the same label.

    The gradient is red where a brighter pixel raises the score, and blue where it lowers it.
    """
    pairs = {name: (image.detach().cpu(), gradients[name].detach().cpu()) for name, image in images.items()}
    for name, (image, gradient) in pairs.items():
        if image.shape != gradient.shape or image.dim() != 2 or image.numel() > MAX_PIXELS:
            raise ValueError(f"{name}: shapes {tuple(image.shape)} and {tuple(gradient.shape)}")
    if not pairs:
        raise NothingToDrawError
    words = [f"{name}: {_describe_gradient(gradient)}" for name, (_, gradient) in pairs.items()]
    return Picture("\n".join(words), lambda: _draw(pairs, words))


def _describe_gradient(gradient: Tensor) -> str:
    row, column = divmod(int(gradient.abs().argmax()), gradient.shape[1])
    return f"the largest gradient is {gradient[row, column].item():.3g}, at row {row}, column {column}"


def _draw(pairs: Mapping[str, tuple[Tensor, Tensor]], words: list[str]) -> Drawing:
    """Draw each image next to its gradient. Each of the two is scaled to use the whole range of shades."""
    parts = []
    for frame, (image, gradient) in enumerate(pairs.values()):
        least, most = image.min().item(), image.max().item()
        ink = (image - least) / (most - least or 1)
        slope = gradient / (gradient.abs().max().item() or 1)
        inside = [*_draw_pixels(ink, 4, INK, INK), *_draw_pixels(slope, 4 + SIDE + GAP, RED, BLUE)]
        parts.append(show_only([frame], *inside) if len(pairs) > 1 else "".join(inside))
    parts.append(
        draw_text(4, 16, "image") + draw_text(4 + SIDE + GAP, 16, "gradient: red raises the score, blue lowers it")
    )
    groups = [Group("image", list(pairs))] if len(pairs) > 1 else []
    return Drawing("A saliency map", WIDTH, TOP + SIDE + 6, parts, groups, words, True, _build_table(pairs))


def _build_table(pairs: Mapping[str, tuple[Tensor, Tensor]]) -> Table | None:
    """Tabulate the gradients, unless they're too wide for a table."""
    columns = max(gradient.shape[1] for _, gradient in pairs.values())
    if columns > MAX_LISTED:
        return None
    rows = [
        [name, str(number), *(f"{value:.3g}" for value in row)]
        for name, (_, gradient) in pairs.items()
        for number, row in enumerate(gradient.tolist())
    ]
    return Table("Gradients as a table", [["image", "row", *(f"column {n}" for n in range(columns))], *rows])


def _draw_pixels(values: Tensor, left: float, above: str, below: str) -> list[str]:
    """Draw squares whose opacity shows the size of their values. Squares of one shade are one path."""
    height, width = values.shape
    side = SIDE / max(height, width)
    shades: dict[tuple[str, int], list[str]] = defaultdict(list)
    for row, listed in enumerate(values.tolist()):
        for column, value in enumerate(listed):
            shade = round(abs(value) * SHADES)
            if shade:
                place = f"M{to_svg(left + column * side)} {to_svg(TOP + row * side)}"
                shades[above if value > 0 else below, shade].append(
                    f"{place}h{to_svg(side)}v{to_svg(side)}h-{to_svg(side)}z"
                )
    frame = draw_rect(left, TOP, width * side, height * side, stroke=LINE)
    filled = [
        f"<path d='{''.join(d)}' fill='{c}' fill-opacity='{s / SHADES:.2f}'/>" for (c, s), d in sorted(shades.items())
    ]
    return [*filled, frame]
