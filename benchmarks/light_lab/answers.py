# %% right: row_means "a sum and the number of columns"
def row_means(x):
    return x.sum(-1) / x.shape[1]


# %% right: row_means "a product with a vector"
def row_means(x):
    return x @ torch.full((x.shape[1],), 1 / x.shape[1], dtype=x.dtype)


# %% wrong: row_means "the means of the columns" fails="two rows | other shapes and float64"
def row_means(x):
    return x.mean(0)


# %% wrong: row_means "the sums" fails="two rows | other shapes and float64"
def row_means(x):
    return x.sum(1)


# %% wrong: row_means "a dimension too many" fails="two rows | other shapes and float64"
def row_means(x):
    return x.mean(1, keepdim=True)


# %% wrong: row_means "rows have three numbers" fails="other shapes and float64"
def row_means(x):
    return x.sum(1) / 3


# %% wrong: row_means "x is free to be overwritten" fails="x keeps its values"
def row_means(x):
    return x.div_(x.shape[1]).sum(1)


# %% right: centred "a column at a time"
def centred(x):
    return torch.stack([c - c.mean() for c in x.unbind(1)], 1)


# %% right: centred "keepdim"
def centred(x):
    return x - x.mean(dim=0, keepdim=True)


# %% wrong: centred "the mean of everything" fails="three rows of two | other shapes and float64"
def centred(x):
    return x - x.mean()


# %% wrong: centred "the rows" fails="three rows of two | other shapes and float64"
def centred(x):
    return x - x.mean(1, keepdim=True)


# %% wrong: centred "standardised too" fails="three rows of two | other shapes and float64"
def centred(x):
    return (x - x.mean(0)) / (x.std(0) + 1e-6)


# %% wrong: centred "in place" fails="x keeps its values"
def centred(x):
    x -= x.mean(0)
    return x


# %% right: running_max "a loop"
def running_max(x):
    found = x.clone()
    for i in range(1, len(x)):
        found[i] = torch.maximum(found[i - 1], found[i])
    return found


# %% right: running_max "a triangle of all pairs"
def running_max(x):
    if len(x) == 0:
        return x.clone()
    below = torch.ones(len(x), len(x)).tril().bool()
    return x.expand(len(x), -1).masked_fill(~below, -torch.inf).amax(1)


# %% wrong: running_max "it begins at zero" fails="any numbers, all below zero too"
def running_max(x):
    return torch.cat([torch.zeros(1, dtype=x.dtype), x]).cummax(0).values[1:]


# %% wrong: running_max "the minimum" fails="five numbers | any numbers, all below zero too"
def running_max(x):
    return x.cummin(0).values


# %% wrong: running_max "one maximum for all" fails="five numbers | any numbers, all below zero too | no number" raises=RuntimeError
def running_max(x):
    return x.max().expand(len(x))


# %% wrong: running_max "the indices" fails="five numbers | any numbers, all below zero too | no number"
def running_max(x):
    return x.cummax(0).indices


# %% wrong: running_max "a loop in place" fails="x keeps its values"
def running_max(x):
    for i in range(1, len(x)):
        x[i] = torch.maximum(x[i - 1], x[i])
    return x


# %% right: one_hot "rows of the identity"
def one_hot(labels, n):
    return torch.eye(n)[labels]


# %% right: one_hot "a comparison"
def one_hot(labels, n):
    return (labels[:, None] == torch.arange(n)).float()


# %% wrong: one_hot "int64, as torch's own" fails="two labels of three | a class without a label | no label"
def one_hot(labels, n):
    return torch.nn.functional.one_hot(labels, n)


# %% wrong: one_hot "as many classes as the labels say" fails="a class without a label | no label" raises=RuntimeError
def one_hot(labels, n):
    return torch.eye(int(labels.max()) + 1)[labels]


# %% wrong: one_hot "a column for each label" fails="two labels of three | a class without a label | no label"
def one_hot(labels, n):
    return torch.eye(n)[labels].T


# %% wrong: one_hot "labels begin at one" fails="two labels of three | a class without a label"
def one_hot(labels, n):
    return torch.eye(n)[labels - 1]


# %% right: squared_distances "the binomial formula"
def squared_distances(a, b):
    return (a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * a @ b.T


# %% right: squared_distances "row by row"
def squared_distances(a, b):
    return torch.stack([((b - p) ** 2).sum(1) for p in a])


# %% wrong: squared_distances "the root too" fails="two points and one | other sizes"
def squared_distances(a, b):
    return torch.cdist(a, b)


# %% wrong: squared_distances "b to a" fails="two points and one | other sizes"
def squared_distances(a, b):
    return ((b[:, None] - a) ** 2).sum(-1)


# %% wrong: squared_distances "the sum of absolute differences" fails="two points and one | other sizes"
def squared_distances(a, b):
    return (a[:, None] - b).abs().sum(-1)


# %% wrong: squared_distances "pairs of the same number" fails="two points and one | other sizes" raises=RuntimeError
def squared_distances(a, b):
    return ((a - b) ** 2).sum(-1)


# %% wrong: squared_distances "only two coordinates" fails="other sizes"
def squared_distances(a, b):
    return (a[:, None, 0] - b[:, 0]) ** 2 + (a[:, None, 1] - b[:, 1]) ** 2


# %% right: polynomial "powers"
def polynomial(coefficients, x):
    return sum(c * x**i for i, c in enumerate(coefficients))


# %% right: polynomial "a product with the powers"
def polynomial(coefficients, x):
    return x[..., None] ** torch.arange(len(coefficients)) @ coefficients


# %% wrong: polynomial "the highest power first" fails="1 + 2x at three places | other degrees and shapes"
def polynomial(coefficients, x):
    value = torch.zeros_like(x)
    for c in coefficients:
        value = value * x + c
    return value


# %% wrong: polynomial "no constant" fails="1 + 2x at three places | other degrees and shapes"
def polynomial(coefficients, x):
    return sum(c * x ** (i + 1) for i, c in enumerate(coefficients))


# %% wrong: polynomial "a straight line" fails="other degrees and shapes"
def polynomial(coefficients, x):
    return coefficients[0] + coefficients[1] * x


# %% wrong: polynomial "all coefficients are added" fails="1 + 2x at three places | other degrees and shapes"
def polynomial(coefficients, x):
    return coefficients.sum() * x


# %% wrong: polynomial "x is not needed any more" fails="x keeps its values"
def polynomial(coefficients, x):
    value = sum(c * x**i for i, c in enumerate(coefficients))
    x.zero_()
    return value
