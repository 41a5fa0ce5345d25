# Answers for the exercises of lab.py beside this file: each right one is a way that somebody really writes it,
# each wrong one a belief that somebody really holds.
# %% right: with_batch "indices instead of squeeze"
def with_batch(f, x, ndim):
    if x.ndim not in (ndim - 1, ndim):
        raise ValueError("wrong number of dimensions")
    return f(x[None])[0] if x.ndim == ndim - 1 else f(x)


# %% right: with_batch "reshape, and select"
def with_batch(f, x, ndim):
    missing = ndim - len(x.shape)
    if missing not in (0, 1):
        raise ValueError(f"{len(x.shape)} dimensions")
    out = f(x.reshape((1,) * missing + tuple(x.shape)))
    return out.select(0, 0) if missing else out


# %% wrong: with_batch "tries the sample first, and goes by the error" fails="other functions, sizes and dtypes"
def with_batch(f, x, ndim):
    if not ndim - 1 <= x.dim() <= ndim:
        raise ValueError("wrong number of dimensions")
    try:
        return f(x)
    except (IndexError, RuntimeError):
        return f(x.unsqueeze(0)).squeeze(0)


# %% wrong: with_batch "squeeze() removes what unsqueeze added" fails="one sample keeps its own dimensions of size 1 | a result of size 1 for each sample keeps that dimension"
def with_batch(f, x, ndim):
    if x.dim() == ndim:
        return f(x)
    if x.dim() != ndim - 1:
        raise ValueError
    return f(x.unsqueeze(0)).squeeze()


# %% wrong: with_batch "squeeze at the end in any case" fails="a batch of one sample stays a batch | one sample keeps its own dimensions of size 1 | a result of size 1 for each sample keeps that dimension"
def with_batch(f, x, ndim):
    if x.dim() not in (ndim - 1, ndim):
        raise ValueError
    return f(x if x.dim() == ndim else x.unsqueeze(0)).squeeze()


# %% wrong: with_batch "squeeze(0) does nothing to a batch" fails="a batch of one sample stays a batch"
def with_batch(f, x, ndim):
    if x.dim() not in (ndim - 1, ndim):
        raise ValueError
    return f(x if x.dim() == ndim else x.unsqueeze(0)).squeeze(0)


# %% wrong: with_batch "a first size of 1 says that it is a batch of one" fails="one sample keeps its own dimensions of size 1" raises=IndexError
def with_batch(f, x, ndim):
    if x.dim() not in (ndim - 1, ndim):
        raise ValueError
    if x.dim() == ndim or x.shape[0] == 1:
        return f(x)
    return f(x.unsqueeze(0)).squeeze(0)


# %% wrong: with_batch "the result is a batch of one" fails="an image gives its channel means, a batch gives one row for each image | other functions, sizes and dtypes | one sample keeps its own dimensions of size 1 | a result of size 1 for each sample keeps that dimension | an empty batch gives an empty result"
def with_batch(f, x, ndim):
    if x.dim() not in (ndim - 1, ndim):
        raise ValueError
    return f(x if x.dim() == ndim else x.unsqueeze(0))


# %% wrong: with_batch "what is no batch is a sample" fails="any other number of dimensions raises a ValueError"
def with_batch(f, x, ndim):
    return f(x) if x.dim() == ndim else f(x[None])[0]


# %% wrong: with_batch "x may be given its new dimension for good" fails="x keeps its shape and its values"
def with_batch(f, x, ndim):
    if x.dim() == ndim:
        return f(x)
    if x.dim() != ndim - 1:
        raise ValueError
    return f(x.clone()[None])[0] if x.shape[0] == 1 else f(x.unsqueeze_(0)).squeeze(0)


# %% right: split_heads "view of a contiguous copy, then permute"
def split_heads(x, heads):
    batch, time, features = x.shape
    if features % heads:
        raise ValueError
    return x.contiguous().view(batch, time, heads, features // heads).permute(0, 2, 1, 3)


# %% right: split_heads "chunks, stacked"
def split_heads(x, heads):
    if x.size(-1) % heads:
        raise ValueError("heads")
    return torch.stack(x.chunk(heads, dim=-1), dim=1)


# %% right: split_heads "einsum changes the order"
def split_heads(x, heads):
    b, t, d = x.shape
    if d % heads != 0:
        raise ValueError
    return torch.einsum("bthd->bhtd", x.reshape(b, t, heads, d // heads))


# %% wrong: split_heads "the right shape is enough" fails="head 1 gets features 2 and 3 of each position | other sizes, heads and dtypes | equal sizes in all dimensions | an x that is transposed, sliced or expanded | one head, and one feature for each head"
def split_heads(x, heads):
    batch, time, features = x.shape
    if features % heads:
        raise ValueError
    return x.reshape(batch, heads, time, features // heads)


# %% wrong: split_heads "the heads come last in the cut" fails="head 1 gets features 2 and 3 of each position | other sizes, heads and dtypes | equal sizes in all dimensions | an x that is transposed, sliced or expanded"
def split_heads(x, heads):
    batch, time, features = x.shape
    if features % heads:
        raise ValueError
    return x.reshape(batch, time, features // heads, heads).permute(0, 3, 1, 2)


# %% wrong: split_heads "one feature for each head needs no dimension" fails="an x that is transposed, sliced or expanded | one head, and one feature for each head"
def split_heads(x, heads):
    batch, time, features = x.shape
    if features % heads:
        raise ValueError
    return x.view(batch, time, heads, features // heads).transpose(1, 2).squeeze(-1)


# %% wrong: split_heads "transpose first, then view" fails="head 1 gets features 2 and 3 of each position | other sizes, heads and dtypes | equal sizes in all dimensions | an x that is transposed, sliced or expanded | one head, and one feature for each head"
def split_heads(x, heads):
    batch, time, features = x.shape
    if features % heads:
        raise ValueError
    return x.transpose(1, 2).reshape(batch, heads, time, features // heads)


# %% wrong: split_heads "the rest of the features can be dropped" fails="heads that do not divide the features raise a ValueError"
def split_heads(x, heads):
    size = x.shape[-1] // heads
    return x[..., : size * heads].unflatten(-1, (heads, size)).transpose(1, 2)


# %% wrong: split_heads "the heads stay behind the time" fails="the shape for two heads of two features | head 1 gets features 2 and 3 of each position | other sizes, heads and dtypes | equal sizes in all dimensions | an x that is transposed, sliced or expanded | one head, and one feature for each head | empty batches, and x keeps its shape and values"
def split_heads(x, heads):
    if x.shape[-1] % heads:
        raise ValueError
    return x.unflatten(-1, (heads, -1))


# %% wrong: split_heads "-1 will find the size" fails="empty batches, and x keeps its shape and values" raises=RuntimeError
def split_heads(x, heads):
    batch, time, features = x.shape
    if features % heads:
        raise ValueError
    return x.reshape(batch, time, heads, -1).transpose(1, 2)


# %% right: view_strides "ask PyTorch, with a tensor of these strides"
def view_strides(size, stride, shape):
    room = 1 + sum((n - 1) * s for n, s in zip(size, stride))
    try:
        return torch.empty(room).as_strided(size, stride).view(shape).stride()
    except RuntimeError:
        return None


# %% right: view_strides "on the meta device, as a list"
def view_strides(size, stride, shape):
    t = torch.empty_strided(size, stride, device="meta")
    try:
        return list(t.view(*shape).stride()) if shape else list(t.view(()).stride())
    except RuntimeError:
        return None


# %% right: view_strides "two pointers, from the right"
def view_strides(size, stride, shape):
    old = [(n, s) for n, s in zip(size, stride) if n != 1]
    new = [n for n in shape if n != 1]
    numel = 1
    for n, _ in old:
        numel *= n
    for n in new:
        numel //= n if numel % n == 0 else numel + 1
    if numel != 1:
        return None
    strides, i = [], len(new) - 1
    j = len(old) - 1
    while j >= 0:
        begin = j
        count, base = old[j]
        while begin > 0 and old[begin - 1][1] == old[begin][0] * old[begin][1]:
            begin -= 1
            count *= old[begin][0]
        while count > 1:
            if i < 0 or count % new[i]:
                return None
            strides.insert(0, base)
            base *= new[i]
            count //= new[i]
            i -= 1
        j = begin - 1
    found = iter(strides)
    return tuple(1 if n == 1 else next(found) for n in shape)


# %% wrong: view_strides "a view needs a contiguous tensor" fails="a tensor that is not contiguous may be cut | neighbours that fit can be joined, in a tensor with gaps too | sizes of 1 in the old and in the new shape | expanded tensors have strides of 0"
def view_strides(size, stride, shape):
    t = torch.empty(1).as_strided((1,), (1,)) if not size else torch.empty_strided(size, stride)
    if not t.is_contiguous() or t.numel() != torch.Size(shape).numel():
        return None
    return torch.empty(shape).stride()


# %% wrong: view_strides "the new tensor is contiguous" fails="a transposed matrix cannot be flattened | a tensor that is not contiguous may be cut | neighbours that fit can be joined, in a tensor with gaps too | a dimension cannot reach from one block into the next | sizes of 1 in the old and in the new shape | expanded tensors have strides of 0"
def view_strides(size, stride, shape):
    if torch.Size(size).numel() != torch.Size(shape).numel():
        return None
    return torch.empty(shape).stride()


# %% wrong: view_strides "reshape tells" fails="a transposed matrix cannot be flattened | neighbours that fit can be joined, in a tensor with gaps too | a dimension cannot reach from one block into the next | sizes of 1 in the old and in the new shape | expanded tensors have strides of 0"
def view_strides(size, stride, shape):
    if torch.Size(size).numel() != torch.Size(shape).numel():
        return None
    return torch.empty_strided(size, stride).reshape(shape).stride()


# %% wrong: view_strides "a size of 1 is a dimension like any other" fails="sizes of 1 in the old and in the new shape | a tensor without dimensions"
def view_strides(size, stride, shape):
    blocks = []
    for n, s in zip(size, stride):
        if blocks and blocks[-1][1] == n * s:
            blocks[-1] = (blocks[-1][0] * n, s)
        else:
            blocks.append((n, s))
    found, left, step = [], 1, 1
    for n in reversed(shape):
        if left == 1:
            if not blocks:
                return None
            left, step = blocks.pop()
        if left % n:
            return None
        found.append(step)
        left, step = left // n, step * n
    return tuple(reversed(found)) if left == 1 and not blocks else None


# %% wrong: view_strides "each dimension can be cut, and none joined" fails="a contiguous tensor, joined and cut | neighbours that fit can be joined, in a tensor with gaps too | sizes of 1 in the old and in the new shape | expanded tensors have strides of 0"
def view_strides(size, stride, shape):
    blocks = [(n, s) for n, s in zip(size, stride) if n > 1]
    found, left, step = [], 1, 1
    for n in reversed(shape):
        if n > 1 and left == 1 and blocks:
            left, step = blocks.pop()
        if left % n != 0:
            return None
        found.append(step)
        left, step = left // n, step * n
    return tuple(reversed(found)) if left == 1 and not blocks else None


# %% wrong: view_strides "what is left over does not matter" fails="another number of elements gives None"
def view_strides(size, stride, shape):
    blocks = []
    for n, s in zip(size, stride):
        if n > 1 and blocks and blocks[-1][1] == n * s:
            blocks[-1] = (blocks[-1][0] * n, s)
        elif n > 1:
            blocks.append((n, s))
    found, left, step = [], 1, 1
    for n in reversed(shape):
        if n > 1 and left == 1 and blocks:
            left, step = blocks.pop()
        if left % n != 0:
            return None
        found.append(step)
        left, step = left // n, step * n
    return tuple(reversed(found))


# %% wrong: view_strides "only the innermost stride must be 1" fails="a transposed matrix cannot be flattened | a tensor that is not contiguous may be cut | neighbours that fit can be joined, in a tensor with gaps too | a dimension cannot reach from one block into the next | sizes of 1 in the old and in the new shape | expanded tensors have strides of 0"
def view_strides(size, stride, shape):
    if torch.Size(size).numel() != torch.Size(shape).numel():
        return None
    found, step = [], stride[-1] if stride else 1
    for n in reversed(shape):
        found.append(step)
        step *= n
    return tuple(reversed(found))


# %% right: windows "PyTorch has a method for it"
def windows(x, k, step):
    return x.unfold(-1, k, step)


# %% right: windows "as_strided with the offset written out"
def windows(x, k, step):
    n = x.size(-1)
    if n < k:
        raise ValueError("too short")
    size = list(x.shape[:-1]) + [len(range(0, n - k + 1, step)), k]
    stride = list(x.stride()[:-1]) + [x.stride(-1) * step, x.stride(-1)]
    return torch.as_strided(x, size, stride, x.storage_offset())


# %% right: windows "unfold at step 1, then every step-th window"
def windows(x, k, step):
    if k > x.shape[-1]:
        raise ValueError
    return x.unfold(x.dim() - 1, k, 1)[..., ::step, :]


# %% wrong: windows "stacked slices" fails="a write to x is seen in the windows | an x that is a slice or a column | more dimensions stay in front"
def windows(x, k, step):
    if k > x.shape[-1]:
        raise ValueError
    return torch.stack([x[..., i : i + k] for i in range(0, x.shape[-1] - k + 1, step)], dim=-2)


# %% wrong: windows "neighbours are one slot apart" fails="an x that is a slice or a column | more dimensions stay in front"
def windows(x, k, step):
    n = x.shape[-1]
    if k > n:
        raise ValueError
    return x.as_strided((*x.shape[:-1], (n - k) // step + 1, k), (*x.stride()[:-1], step, 1))


# %% wrong: windows "contiguous() makes strides simple" fails="an x that is a slice or a column | more dimensions stay in front"
def windows(x, k, step):
    if k > x.shape[-1]:
        raise ValueError
    return x.contiguous().unfold(-1, k, step)


# %% wrong: windows "a view begins at the start of the storage" fails="an x that is a slice or a column | more dimensions stay in front"
def windows(x, k, step):
    n, s = x.shape[-1], x.stride(-1)
    if k > n:
        raise ValueError
    return x.as_strided((*x.shape[:-1], (n - k) // step + 1, k), (*x.stride()[:-1], step * s, s), 0)


# %% wrong: windows "n - k windows" fails="windows of 3 in 6 elements, step 1 | other windows and steps | a write to x is seen in the windows | an x that is a slice or a column | more dimensions stay in front | one window, and none | an empty batch, and x keeps its values"
def windows(x, k, step):
    n, s = x.shape[-1], x.stride(-1)
    if k > n:
        raise ValueError
    return x.as_strided((*x.shape[:-1], (n - k) // step, k), (*x.stride()[:-1], step * s, s))


# %% wrong: windows "one window for each possible start" fails="other windows and steps | a write to x is seen in the windows | an x that is a slice or a column | more dimensions stay in front"
def windows(x, k, step):
    return x.unfold(-1, k, 1)


# %% wrong: windows "a window is a column" fails="windows of 3 in 6 elements, step 1 | other windows and steps | a write to x is seen in the windows | an x that is a slice or a column | more dimensions stay in front | one window, and none"
def windows(x, k, step):
    return x.unfold(-1, k, step).transpose(-1, -2)


# %% wrong: windows "a signal is one-dimensional" fails="more dimensions stay in front | an empty batch, and x keeps its values" raises=RuntimeError
def windows(x, k, step):
    x = x.view(-1) if x.dim() == 1 else x.squeeze(0).view(-1)
    return x.unfold(0, k, step)


# %% wrong: windows "no whole window, no row" fails="one window, and none"
def windows(x, k, step):
    n, s = x.shape[-1], x.stride(-1)
    count = len(range(0, n - k + 1, step))
    return x.as_strided((*x.shape[:-1], count, k), (*x.stride()[:-1], step * s, s))


# %% right: safe_mse "mse_loss on columns"
def safe_mse(predicted, target):
    def column(t):
        if t.dim() == 1:
            return t.unsqueeze(1)
        if t.dim() == 2 and t.shape[1] == 1:
            return t
        raise ValueError("no column")

    a, b = column(predicted), column(target)
    if a.shape != b.shape:
        raise ValueError("lengths")
    return torch.nn.functional.mse_loss(a, b)


# %% right: safe_mse "the shape is compared as a whole"
def safe_mse(predicted, target):
    n = predicted.numel()
    allowed = [torch.Size([n]), torch.Size([n, 1])]
    if predicted.shape not in allowed or target.shape not in allowed:
        raise ValueError(f"{tuple(predicted.shape)} and {tuple(target.shape)}")
    error = predicted.reshape(n) - target.reshape(n)
    return error @ error / n


# %% right: safe_mse "squeeze one dimension by its number"
def safe_mse(predicted, target):
    if predicted.dim() == 2:
        if predicted.size(1) != 1:
            raise ValueError
        predicted = predicted.squeeze(1)
    if target.dim() == 2:
        if target.size(1) != 1:
            raise ValueError
        target = target.squeeze(1)
    if predicted.dim() != 1 or predicted.shape != target.shape:
        raise ValueError
    return torch.mean((predicted - target) ** 2)


# %% wrong: safe_mse "broadcasting will do" fails="a column of predictions and a row of targets | all four pairs of shapes, in float32 and float64 | float64 keeps its digits | different numbers of predictions and targets raise a ValueError | shapes that are no column raise a ValueError | strided arguments, which keep their values and shapes"
def safe_mse(predicted, target):
    return (predicted - target).square().mean()


# %% wrong: safe_mse "mse_loss checks shapes" fails="a column of predictions and a row of targets | all four pairs of shapes, in float32 and float64 | float64 keeps its digits | different numbers of predictions and targets raise a ValueError | shapes that are no column raise a ValueError | strided arguments, which keep their values and shapes"
def safe_mse(predicted, target):
    return torch.nn.functional.mse_loss(predicted, target)


# %% wrong: safe_mse "squeeze both" fails="different numbers of predictions and targets raise a ValueError | shapes that are no column raise a ValueError" raises=RuntimeError
def safe_mse(predicted, target):
    return (predicted.squeeze() - target.squeeze()).square().mean()


# %% wrong: safe_mse "equal numbers of elements are enough" fails="shapes that are no column raise a ValueError"
def safe_mse(predicted, target):
    if predicted.numel() != target.numel():
        raise ValueError
    return (predicted.flatten() - target.flatten()).square().mean()


# %% wrong: safe_mse "the prediction is a column, the target is not" fails="all four pairs of shapes, in float32 and float64 | float64 keeps its digits | a single prediction" raises=ValueError
def safe_mse(predicted, target):
    if predicted.dim() != 2 or predicted.shape[1] != 1 or target.dim() != 1 or len(predicted) != len(target):
        raise ValueError
    return (predicted[:, 0] - target).square().mean()


# %% wrong: safe_mse "the sum is as good as the mean" fails="a column of predictions and a row of targets | all four pairs of shapes, in float32 and float64 | float64 keeps its digits | strided arguments, which keep their values and shapes"
def safe_mse(predicted, target):
    for t in (predicted, target):
        if t.dim() not in (1, 2) or t.shape[1:] not in ((), (1,)):
            raise ValueError
    if len(predicted) != len(target):
        raise ValueError
    return (predicted.flatten() - target.flatten()).square().sum()


# %% wrong: safe_mse "float32 is enough for a loss" fails="all four pairs of shapes, in float32 and float64 | float64 keeps its digits"
def safe_mse(predicted, target):
    for t in (predicted, target):
        if t.ndim not in (1, 2) or (t.ndim == 2 and t.shape[1] != 1):
            raise ValueError
    if len(predicted) != len(target):
        raise ValueError
    return (predicted.flatten().float() - target.flatten().float()).square().mean().to(predicted.dtype)


# %% wrong: safe_mse "the lengths are checked by the subtraction" fails="different numbers of predictions and targets raise a ValueError" raises=RuntimeError
def safe_mse(predicted, target):
    for t in (predicted, target):
        if t.dim() not in (1, 2) or t.shape[1:] not in ((), (1,)):
            raise ValueError
    return (predicted.flatten() - target.flatten()).square().mean()


# %% wrong: safe_mse "in place saves memory" fails="all four pairs of shapes, in float32 and float64 | a single prediction | strided arguments, which keep their values and shapes"
def safe_mse(predicted, target):
    for t in (predicted, target):
        if t.dim() not in (1, 2) or t.shape[1:] not in ((), (1,)):
            raise ValueError
    if len(predicted) != len(target):
        raise ValueError
    error = predicted if predicted.dim() == 1 else predicted[:, 0]
    return error.sub_(target if target.dim() == 1 else target[:, 0]).square().mean()


# %% right: pairwise_distances "cdist without the expansion"
def pairwise_distances(a, b):
    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")


# %% right: pairwise_distances "a norm of the differences"
def pairwise_distances(a, b):
    return torch.linalg.vector_norm(a.unsqueeze(1) - b, dim=-1)


# %% right: pairwise_distances "row by row"
def pairwise_distances(a, b):
    table = a.new_empty(len(a), len(b))
    for i, point in enumerate(a):
        table[i] = ((b - point) ** 2).sum(dim=1).sqrt()
    return table


# %% right: pairwise_distances "one coordinate after the other, with hypot"
def pairwise_distances(a, b):
    total = a.new_zeros(len(a), len(b))
    for i in range(a.shape[1]):
        total = torch.hypot(total, a[:, i, None] - b[:, i])
    return total


# %% right: pairwise_distances "einsum squares and adds up"
def pairwise_distances(a, b):
    difference = a[:, None] - b[None]
    return torch.einsum("nmd,nmd->nm", difference, difference).sqrt()


# %% wrong: pairwise_distances "the expansion is the same thing" fails="points close together and far from zero | two groups far from zero, on either side of it | thirty points close together and far from zero"
def pairwise_distances(a, b):
    squares = a.square().sum(1)[:, None] - 2 * a @ b.T + b.square().sum(1)
    return squares.sqrt()


# %% wrong: pairwise_distances "cdist takes care of it" fails="thirty points close together and far from zero"
def pairwise_distances(a, b):
    return torch.cdist(a, b)


# %% wrong: pairwise_distances "clamp repairs the expansion" fails="points close together and far from zero | two groups far from zero, on either side of it | thirty points close together and far from zero"
def pairwise_distances(a, b):
    squares = a.square().sum(1, keepdim=True) + b.square().sum(1) - 2 * a @ b.T
    return squares.clamp(min=0).sqrt()


# %% wrong: pairwise_distances "the squared distance is a distance" fails="two points and three points in the plane | other numbers of points, dimensions and float64 | n, m and d are equal | points close together and far from zero | two groups far from zero, on either side of it | thirty points close together and far from zero | a point has the distance 0 from itself | transposed and sliced arguments, which keep their values"
def pairwise_distances(a, b):
    return (a[:, None] - b).square().sum(-1)


# %% wrong: pairwise_distances "a distance is a sum of absolute differences" fails="two points and three points in the plane | other numbers of points, dimensions and float64 | n, m and d are equal | points close together and far from zero | thirty points close together and far from zero | a point has the distance 0 from itself | transposed and sliced arguments, which keep their values"
def pairwise_distances(a, b):
    return (a[:, None] - b).abs().sum(-1)


# %% wrong: pairwise_distances "b comes first" fails="two points and three points in the plane | other numbers of points, dimensions and float64 | n, m and d are equal | points close together and far from zero | two groups far from zero, on either side of it | thirty points close together and far from zero | transposed and sliced arguments, which keep their values | no points give an empty table, and points without coordinates zeros"
def pairwise_distances(a, b):
    return (b[:, None] - a).square().sum(-1).sqrt()


# %% wrong: pairwise_distances "a - b compares every point with every other" fails="two points and three points in the plane | other numbers of points, dimensions and float64 | n, m and d are equal | points close together and far from zero | two groups far from zero, on either side of it | thirty points close together and far from zero | a point has the distance 0 from itself | transposed and sliced arguments, which keep their values | no points give an empty table, and points without coordinates zeros" raises=RuntimeError
def pairwise_distances(a, b):
    return (a - b).square().sum(-1).sqrt()


# %% wrong: pairwise_distances "a small number under the root for safety" fails="other numbers of points, dimensions and float64 | a point has the distance 0 from itself | no points give an empty table, and points without coordinates zeros"
def pairwise_distances(a, b):
    return ((a[:, None] - b).square().sum(-1) + 1e-8).sqrt()


# %% wrong: pairwise_distances "a tiny number under the root changes nothing" fails="a point has the distance 0 from itself"
def pairwise_distances(a, b):
    return ((a[:, None] - b).square().sum(-1) + 1e-12).sqrt()


# %% wrong: pairwise_distances "in float64 the expansion is exact" fails="two groups far from zero, on either side of it"
def pairwise_distances(a, b):
    p, q = a.double(), b.double()
    squares = p.square().sum(1)[:, None] + q.square().sum(1) - 2 * p @ q.T
    return squares.clamp(min=0).sqrt().to(a.dtype)


# %% wrong: pairwise_distances "around their mean, points are near zero" fails="two groups far from zero, on either side of it"
def pairwise_distances(a, b):
    centre = b.mean(0)
    p, q = a - centre, b - centre
    squares = p.square().sum(1)[:, None] + q.square().sum(1) - 2 * p @ q.T
    return squares.clamp(min=0).sqrt()


# %% wrong: pairwise_distances "the sum goes over the middle" fails="two points and three points in the plane | other numbers of points, dimensions and float64 | n, m and d are equal | points close together and far from zero | two groups far from zero, on either side of it | thirty points close together and far from zero | a point has the distance 0 from itself | transposed and sliced arguments, which keep their values | no points give an empty table, and points without coordinates zeros"
def pairwise_distances(a, b):
    return (a[:, None] - b).square().sum(1).sqrt()


# %% right: sum_device "by type and index"
def sum_device(a_shape, a_device, b_shape, b_device):
    def place(device):
        return (device.type, device.index or 0)

    if place(a_device) == place(b_device):
        chosen = a_device
    elif b_device.type == "cpu" and b_shape == ():
        chosen = a_device
    elif a_device.type == "cpu" and a_shape == ():
        chosen = b_device
    else:
        return None
    return torch.device("cpu") if chosen.type == "cpu" else torch.device("cuda", chosen.index or 0)


# %% right: sum_device "leave out what can travel"
def sum_device(a_shape, a_device, b_shape, b_device):
    names = []
    for shape, device in ((a_shape, a_device), (b_shape, b_device)):
        name = "cuda:0" if str(device) == "cuda" else str(device)
        if name != "cpu" or len(shape) > 0:
            names.append(name)
    if len(set(names)) > 1:
        return None
    return torch.device(names[0] if names else "cpu")


# %% wrong: sum_device "all tensors on one device, without exception" fails="a 0-dim tensor on the CPU goes with any tensor | cuda and cuda:0 are one device"
def sum_device(a_shape, a_device, b_shape, b_device):
    first, second = (torch.device("cuda:0") if d == torch.device("cuda") else d for d in (a_device, b_device))
    return first if first == second else None


# %% wrong: sum_device "any 0-dim tensor may travel" fails="a 0-dim tensor on a CUDA device does not"
def sum_device(a_shape, a_device, b_shape, b_device):
    first, second = (torch.device("cuda:0") if d == torch.device("cuda") else d for d in (a_device, b_device))
    if first == second or len(b_shape) == 0:
        return second if first.type == "cpu" and len(a_shape) == 0 else first
    return second if len(a_shape) == 0 else None


# %% wrong: sum_device "cuda and cuda:0 are equal" fails="cuda and cuda:0 are one device"
def sum_device(a_shape, a_device, b_shape, b_device):
    if a_device == b_device:
        return a_device
    if b_device.type == "cpu" and len(b_shape) == 0:
        return a_device
    if a_device.type == "cpu" and len(a_shape) == 0:
        return b_device
    return None


# %% wrong: sum_device "the type decides" fails="both on the CPU, and both on cuda:1 | tensors with dimensions on two devices raise an error | a 0-dim tensor on the CPU goes with any tensor | a 0-dim tensor on a CUDA device does not"
def sum_device(a_shape, a_device, b_shape, b_device):
    if a_device.type == b_device.type:
        return torch.device("cpu") if a_device.type == "cpu" else torch.device("cuda:0")
    if (a_device.type == "cpu" and a_shape == ()) or (b_device.type == "cpu" and b_shape == ()):
        return torch.device("cuda:0")
    return None


# %% wrong: sum_device "one element can travel, whatever its shape" fails="tensors with dimensions on two devices raise an error"
def sum_device(a_shape, a_device, b_shape, b_device):
    first, second = (torch.device("cuda:0") if d == torch.device("cuda") else d for d in (a_device, b_device))
    if first == second:
        return first
    if second.type == "cpu" and torch.Size(b_shape).numel() == 1:
        return first
    if first.type == "cpu" and torch.Size(a_shape).numel() == 1:
        return second
    return None


# %% wrong: sum_device "PyTorch moves what is on the CPU" fails="tensors with dimensions on two devices raise an error | a 0-dim tensor on a CUDA device does not"
def sum_device(a_shape, a_device, b_shape, b_device):
    first, second = (torch.device("cuda:0") if d == torch.device("cuda") else d for d in (a_device, b_device))
    if first == second:
        return first
    if second.type == "cpu":
        return first
    return second if first.type == "cpu" else None


# %% wrong: sum_device "the result is where a is" fails="tensors with dimensions on two devices raise an error | a 0-dim tensor on the CPU goes with any tensor | a 0-dim tensor on a CUDA device does not | cuda and cuda:0 are one device"
def sum_device(a_shape, a_device, b_shape, b_device):
    return a_device


# %% right: to_device "tree_map knows the containers"
def to_device(batch, device, dtype):
    from torch.utils._pytree import tree_map

    def moved(item):
        if not torch.is_tensor(item):
            return item
        return item.to(device=device, dtype=dtype) if dtype and item.dtype.is_floating_point else item.to(device)

    return tree_map(moved, batch)


# %% right: to_device "one branch for each kind, with _make"
def to_device(batch, device, dtype):
    match batch:
        case torch.Tensor():
            moved = batch.to(device)
            return moved.to(dtype) if dtype is not None and moved.is_floating_point() else moved
        case dict():
            return dict(zip(batch, [to_device(v, device, dtype) for v in batch.values()]))
        case list():
            return [to_device(v, device, dtype) for v in batch]
        case tuple():
            items = (to_device(v, device, dtype) for v in batch)
            return batch._make(items) if hasattr(batch, "_make") else tuple(items)
        case _:
            return batch


# %% wrong: to_device "to changes a tensor where it is" fails="a dict of images and labels, in float64 | on a second device, the images lie there too | lists, tuples and dicts in one another, in other dtypes | tensors of every floating-point dtype are cast | tuples stay tuples, lists stay lists, and a named tuple keeps its names | every tensor of a nested batch lies on the second device | and comes back to the CPU | batch stays as it is, and lists and dicts are new | empty containers and empty tensors"
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        batch.to(device, dtype if batch.is_floating_point() else None)
    elif isinstance(batch, dict):
        for value in batch.values():
            to_device(value, device, dtype)
    elif isinstance(batch, (list, tuple)):
        for value in batch:
            to_device(value, device, dtype)
    return batch


# %% wrong: to_device "a batch is a dict of tensors" fails="lists, tuples and dicts in one another, in other dtypes | integers and booleans keep their dtype, and None keeps all | tensors of every floating-point dtype are cast | tuples stay tuples, lists stay lists, and a named tuple keeps its names | what is no tensor is handed on as it is | every tensor of a nested batch lies on the second device | and comes back to the CPU | batch stays as it is, and lists and dicts are new | empty containers and empty tensors" raises=AttributeError
def to_device(batch, device, dtype):
    return {
        k: v.to(device, dtype if v.is_floating_point() else None) if isinstance(v, torch.Tensor) else v
        for k, v in batch.items()
    }


# %% wrong: to_device "all tensors get the dtype" fails="a dict of images and labels, in float64 | integers and booleans keep their dtype, and None keeps all | tuples stay tuples, lists stay lists, and a named tuple keeps its names | every tensor of a nested batch lies on the second device | and comes back to the CPU"
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[to_device(item, device, dtype) for item in batch])
    if isinstance(batch, (list, tuple)):
        return type(batch)([to_device(item, device, dtype) for item in batch])
    return batch


# %% wrong: to_device "a sequence comes back as a list" fails="tuples stay tuples, lists stay lists, and a named tuple keeps its names"
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [to_device(item, device, dtype) for item in batch]
    return batch


# %% wrong: to_device "a named tuple is made like a tuple" fails="tuples stay tuples, lists stay lists, and a named tuple keeps its names | every tensor of a nested batch lies on the second device" raises=TypeError
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return type(batch)(to_device(item, device, dtype) for item in batch)
    return batch


# %% wrong: to_device "the named tuple is the one of the example" fails="tuples stay tuples, lists stay lists, and a named tuple keeps its names"
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    items = [to_device(item, device, dtype) for item in batch] if isinstance(batch, (list, tuple)) else batch
    if isinstance(batch, Sample):
        return Sample(*items)
    return tuple(items) if isinstance(batch, tuple) else items


# %% wrong: to_device "the caller's dict can be filled" fails="batch stays as it is, and lists and dicts are new"
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        for key in batch:
            batch[key] = to_device(batch[key], device, dtype)
        return batch
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[to_device(item, device, dtype) for item in batch])
    if isinstance(batch, (list, tuple)):
        return type(batch)([to_device(item, device, dtype) for item in batch])
    return batch


# %% wrong: to_device "on this machine nothing has to be moved" fails="on a second device, the images lie there too | every tensor of a nested batch lies on the second device | and comes back to the CPU"
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(dtype) if dtype is not None and batch.is_floating_point() else batch
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[to_device(item, device, dtype) for item in batch])
    if isinstance(batch, (list, tuple)):
        return type(batch)([to_device(item, device, dtype) for item in batch])
    return batch


# %% wrong: to_device "labels may stay on the CPU" fails="every tensor of a nested batch lies on the second device | and comes back to the CPU"
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype) if batch.is_floating_point() else batch
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[to_device(item, device, dtype) for item in batch])
    if isinstance(batch, (list, tuple)):
        return type(batch)([to_device(item, device, dtype) for item in batch])
    return batch


# %% wrong: to_device "floating point is float32 or float64" fails="tensors of every floating-point dtype are cast"
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        floating = batch.dtype in (torch.float32, torch.float64)
        return batch.to(device, dtype if floating else None)
    if isinstance(batch, dict):
        return {k: to_device(v, device, dtype) for k, v in batch.items()}
    if hasattr(batch, "_fields"):
        return type(batch)(*[to_device(v, device, dtype) for v in batch])
    if isinstance(batch, (list, tuple)):
        return type(batch)(to_device(v, device, dtype) for v in batch)
    return batch


# %% wrong: to_device "the dtypes of labels can be listed" fails="integers and booleans keep their dtype, and None keeps all"
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        labels = (torch.int64, torch.int32, torch.uint8, torch.bool)
        return batch.to(device, None if batch.dtype in labels else dtype)
    if isinstance(batch, dict):
        return {k: to_device(v, device, dtype) for k, v in batch.items()}
    if hasattr(batch, "_fields"):
        return type(batch)(*[to_device(v, device, dtype) for v in batch])
    if isinstance(batch, (list, tuple)):
        return type(batch)(to_device(v, device, dtype) for v in batch)
    return batch


# %% wrong: to_device "an empty container can be handed on" fails="what is no tensor is handed on as it is | batch stays as it is, and lists and dicts are new" raises=ValueError
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if not batch:
        return batch
    if isinstance(batch, dict):
        return {k: to_device(v, device, dtype) for k, v in batch.items()}
    if hasattr(batch, "_fields"):
        return type(batch)(*[to_device(v, device, dtype) for v in batch])
    if isinstance(batch, (list, tuple)):
        return type(batch)(to_device(v, device, dtype) for v in batch)
    return batch


# %% wrong: to_device "the first item tells what a list holds" fails="lists, tuples and dicts in one another, in other dtypes"
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {k: to_device(v, device, dtype) for k, v in batch.items()}
    if hasattr(batch, "_fields"):
        return type(batch)(*[to_device(v, device, dtype) for v in batch])
    if isinstance(batch, (list, tuple)):
        if batch and isinstance(batch[0], (str, int, float)):
            return batch
        return type(batch)(to_device(v, device, dtype) for v in batch)
    return batch


# %% wrong: to_device "what can be iterated over is a container, unless it is a string" fails="what is no tensor is handed on as it is" raises=TypeError
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {k: to_device(v, device, dtype) for k, v in batch.items()}
    if hasattr(batch, "_fields"):
        return type(batch)(*[to_device(v, device, dtype) for v in batch])
    if hasattr(batch, "__iter__") and not isinstance(batch, str):
        return type(batch)([to_device(v, device, dtype) for v in batch])
    return batch


# %% wrong: to_device "what has a length is a container" fails="a dict of images and labels, in float64 | lists, tuples and dicts in one another, in other dtypes | tuples stay tuples, lists stay lists, and a named tuple keeps its names | what is no tensor is handed on as it is | every tensor of a nested batch lies on the second device" raises=TypeError
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if hasattr(batch, "__len__"):
        return type(batch)(to_device(item, device, dtype) for item in batch)
    return batch


# %% right: Normalize "the shape is made in forward"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.detach().clone())
        self.register_buffer("std", std.detach().clone())

    def forward(self, x):
        mean = self.mean[None, :, None, None]
        std = self.std[None, :, None, None]
        return (x - mean) / std


# %% right: Normalize "torch.tensor copies, and Buffer is a class"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = nn.Buffer(torch.empty_like(mean).copy_(mean).view(1, -1, 1, 1))
        self.std = nn.Buffer(torch.empty_like(std).copy_(std).view(1, -1, 1, 1))

    def forward(self, x):
        return x.sub(self.mean).div(self.std)


# %% right: Normalize "the channels go last and come back"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean + 0)
        self.register_buffer("std", std + 0)

    def forward(self, x):
        return ((x.movedim(1, -1) - self.mean) / self.std).movedim(-1, 1)


# %% right: Normalize "batch_norm with fixed statistics"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone())
        self.register_buffer("std", std.clone())

    def forward(self, x):
        return nn.functional.batch_norm(x, self.mean, self.std**2, eps=0.0)


# %% right: Normalize "parameters that ask for no gradient"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = nn.Parameter(mean.detach().clone(), requires_grad=False)
        self.std = nn.Parameter(std.detach().clone(), requires_grad=False)

    def forward(self, x):
        return (x - self.mean.view(-1, 1, 1)) / self.std.view(-1, 1, 1)


# %% wrong: Normalize "a product is faster, so the inverse is saved" fails="mean and std are saved and loaded"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone().view(-1, 1, 1))
        self.register_buffer("std", 1 / std.view(-1, 1, 1))

    def forward(self, x):
        return (x - self.mean) * self.std


# %% wrong: Normalize "constants are float32" fails="the module is cast as a whole"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.float().clone().view(-1, 1, 1))
        self.register_buffer("std", std.float().clone().view(-1, 1, 1))

    def forward(self, x):
        return ((x - self.mean) / self.std).to(x.dtype)


# %% wrong: Normalize "a tensor in a module moves with it" fails="it runs on a second device | the module is cast as a whole | mean and std are saved and loaded | another input on the second device, and no operation that mixes devices" raises=RuntimeError
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = mean.clone().reshape(-1, 1, 1)
        self.std = std.clone().reshape(-1, 1, 1)

    def forward(self, x):
        return (x - self.mean) / self.std


# %% wrong: Normalize "what a module holds is a parameter" fails="training changes neither mean nor std"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = nn.Parameter(mean.clone().reshape(-1, 1, 1))
        self.std = nn.Parameter(std.clone().reshape(-1, 1, 1))

    def forward(self, x):
        return (x - self.mean) / self.std


# %% wrong: Normalize "(C,) meets the channels" fails="two channels of 2 by 3 | it runs on a second device | other sizes, and as many channels as columns | the module is cast as a whole | training changes neither mean nor std | mean and std are saved and loaded | later changes of the caller's tensors change nothing | another input on the second device, and no operation that mixes devices | training and evaluation are the same, and x keeps its values | an empty batch keeps its shape" raises=RuntimeError
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone())
        self.register_buffer("std", std.clone())

    def forward(self, x):
        return (x - self.mean) / self.std


# %% wrong: Normalize "(C,) meets the channels, unless an error says no" fails="other sizes, and as many channels as columns"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone())
        self.register_buffer("std", std.clone())

    def forward(self, x):
        if x.shape[-1] == len(self.mean):
            return (x - self.mean) / self.std
        return (x - self.mean[:, None, None]) / self.std[:, None, None]


# %% wrong: Normalize "constants need not be saved" fails="mean and std are saved and loaded"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone().reshape(-1, 1, 1), persistent=False)
        self.register_buffer("std", std.clone().reshape(-1, 1, 1), persistent=False)

    def forward(self, x):
        return (x - self.mean) / self.std


# %% wrong: Normalize "register_buffer keeps a copy" fails="later changes of the caller's tensors change nothing"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.reshape(-1, 1, 1))
        self.register_buffer("std", std.reshape(-1, 1, 1))

    def forward(self, x):
        return (x - self.mean) / self.std


# %% wrong: Normalize "Python numbers fit any device and dtype" fails="mean and std are saved and loaded"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.numbers = list(zip(mean.tolist(), std.tolist()))

    def forward(self, x):
        return torch.stack([(x[:, i] - m) / s for i, (m, s) in enumerate(self.numbers)], dim=1)


# %% wrong: Normalize "made anew in forward, on the CPU" fails="it runs on a second device | the module is cast as a whole | another input on the second device, and no operation that mixes devices" raises=RuntimeError
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone())
        self.register_buffer("std", std.clone())

    def forward(self, x):
        mean = torch.tensor(self.mean.tolist()).reshape(-1, 1, 1)
        std = torch.tensor(self.std.tolist()).reshape(-1, 1, 1)
        return (x - mean) / std


# %% wrong: Normalize "in place saves memory" fails="the module is cast as a whole | training changes neither mean nor std | training and evaluation are the same, and x keeps its values"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone().reshape(-1, 1, 1))
        self.register_buffer("std", std.clone().reshape(-1, 1, 1))

    def forward(self, x):
        return x.sub_(self.mean).div_(self.std)


# %% wrong: Normalize "evaluation needs no normalisation" fails="training and evaluation are the same, and x keeps its values"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone().reshape(-1, 1, 1))
        self.register_buffer("std", std.clone().reshape(-1, 1, 1))

    def forward(self, x):
        return (x - self.mean) / self.std if self.training else x


# %% right: interview "capitals, commas, any order"
def interview():
    return dict(q1="E, C, A", q2="E,D,C,B", q3="D C", q4="CA", q5="a, e", q6="edb")


# %% right: interview "looked up from a table"
def interview():
    table = [("q1", "aec"), ("q2", "bced"), ("q3", "dc"), ("q4", "ca"), ("q5", "ea"), ("q6", "bed")]
    return {name: chosen for name, chosen in table}


# %% wrong: interview "view needs contiguous, and permute is a kind of reshape" fails="q1: view against reshape | q2: layout"
def interview():
    return {"q1": "abce", "q2": "abc", "q3": "cd", "q4": "ac", "q5": "ae", "q6": "bde"}


# %% wrong: interview "squeeze(0) insists, and unsqueeze copies" fails="q3: dimensions of size 1"
def interview():
    return {"q1": "ace", "q2": "bcde", "q3": "bcde", "q4": "ac", "q5": "ae", "q6": "bde"}


# %% wrong: interview "shapes are aligned from the left, and expand copies" fails="q4: broadcasting"
def interview():
    return {"q1": "ace", "q2": "bcde", "q3": "cd", "q4": "abd", "q5": "ae", "q6": "bde"}


# %% wrong: interview "no tensor may cross, and to moves it" fails="q5: devices | q6: code for any device"
def interview():
    return {"q1": "ace", "q2": "bcde", "q3": "cd", "q4": "ac", "q5": "abcd", "q6": "abcde"}


# %% wrong: interview "the same guess six times" fails="at least two questions are right | q2: layout | q3: dimensions of size 1 | q4: broadcasting | q5: devices | q6: code for any device"
def interview():
    return dict.fromkeys(("q1", "q2", "q3", "q4", "q5", "q6"), "ace")


# %% wrong: interview "no letters at all" fails="q1 to q6 each have letters from a to e | at least two questions are right | q1: view against reshape | q2: layout | q3: dimensions of size 1 | q4: broadcasting | q5: devices | q6: code for any device"
def interview():
    return dict.fromkeys(("q1", "q2", "q3", "q4", "q5", "q6"), "?")


# %% wrong: interview "one string for all questions" fails="q1 to q6 each have letters from a to e | at least two questions are right | q1: view against reshape | q2: layout | q3: dimensions of size 1 | q4: broadcasting | q5: devices | q6: code for any device"
def interview():
    return "ace bcde cd ac ae bde"


# %% wrong: split_heads "the sizes tell whether heads and time must change places" fails="equal sizes in all dimensions"
def split_heads(x, heads):
    if x.shape[-1] % heads:
        raise ValueError
    made = x.unflatten(-1, (heads, x.shape[-1] // heads))
    return made.transpose(1, 2) if made.shape[1] != heads else made


# %% wrong: to_device "whatever has to() is moved" fails="what is no tensor is handed on as it is"
def to_device(batch, device, dtype):
    if hasattr(batch, "to"):
        is_float = isinstance(batch, Tensor) and batch.is_floating_point()
        return batch.to(device, dtype if is_float else None)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[to_device(item, device, dtype) for item in batch])
    if isinstance(batch, list | tuple):
        return type(batch)([to_device(item, device, dtype) for item in batch])
    return batch


# %% wrong: to_device "all that is no tensor is copied, to be safe" fails="what is no tensor is handed on as it is"
def to_device(batch, device, dtype):
    import copy

    if isinstance(batch, Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[to_device(item, device, dtype) for item in batch])
    if isinstance(batch, list | tuple):
        return type(batch)([to_device(item, device, dtype) for item in batch])
    return copy.deepcopy(batch)


# %% equivalent: with_batch "text 'neither a batch nor a sample' changed: raise ValueError('neither a batch nor a samplex')"
# No check reads the text of an error.


# %% equivalent: split_heads "text 'heads does not divide the number of features' changed: raise ValueError('heads does not divide the number of featuresx')"
# No check reads the text of an error.


# %% equivalent: split_heads "first two arguments swapped: return x.unflatten(-1, (heads, x.shape[-1] // heads)).transpose(2, 1)"
# transpose(a, b) and transpose(b, a) exchange the same two dimensions.


# %% equivalent: view_strides "argument strict dropped: for n, s in zip(size, stride):"
# size and stride have one length, as the docstring says.


# %% equivalent: view_strides "True to False: for n, s in zip(size, stride, strict=False):"
# size and stride have one length, as the docstring says.


# %% equivalent: view_strides "1 to 2: found, left, step = ([], 1, 2)"
# Until the first block is taken, step is only the stride of entries of 1, for which any integer will do.


# %% equivalent: view_strides "Gt to GtE: if n >= 1 and blocks and (blocks[-1][1] == n * s):"
# A size of 1 whose stride is that of the last block joins it: neither number of the block changes.


# %% equivalent: view_strides "Gt to GtE: if n >= 1 and left == 1 and blocks:"
# An entry of 1 takes the next block a little earlier and nothing of it. Its own stride may be any integer, and a block
# that no entry divides leaves left above 1 in place of a rest in blocks: None either way.


# %% equivalent: windows "text 'the window is longer than x' changed: raise ValueError('the window is longer than xx')"
# No check reads the text of an error.


# %% equivalent: safe_mse "text 'the shape must be (N,) or (N, 1)' changed: raise ValueError('the shape must be (N,) or (N, 1)x')"
# No check reads the text of an error.


# %% equivalent: safe_mse "text 'there must be one target for each prediction' changed: raise ValueError('there must be one target for each predictionx')"
# No check reads the text of an error.
