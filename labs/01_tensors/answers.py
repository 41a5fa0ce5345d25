# %% right: grid_points "start plus a step times an integer"
def grid_points(start, stop, n, endpoint):
    step = (stop - start) / max(n - 1 if endpoint else n, 1)
    return start + step * torch.arange(n)


# %% right: grid_points "NumPy does it, then a cast"
def grid_points(start, stop, n, endpoint):
    return torch.from_numpy(np.linspace(start, stop, n, endpoint=endpoint)).to(torch.float32)


# %% right: grid_points "a Python list"
def grid_points(start, stop, n, endpoint):
    parts = n - 1 if endpoint and n > 1 else n
    points = [start + i * (stop - start) / parts for i in range(n)]
    return torch.tensor(points, dtype=torch.float32)


# %% right: grid_points "lerp between the ends"
def grid_points(start, stop, n, endpoint):
    w = torch.arange(n, dtype=torch.float64) / max(n - endpoint, 1)
    return torch.lerp(torch.tensor(start).double(), torch.tensor(stop).double(), w).float()


# %% wrong: grid_points "arange up to one step behind the end" fails="n points for n between 2 and 60 | no point, and one point | start and stop at one place" raises=RuntimeError
def grid_points(start, stop, n, endpoint):
    step = (stop - start) / max(n - 1 if endpoint else n, 1)
    return torch.arange(start, stop + step if endpoint else stop, step)


# %% wrong: grid_points "half a step more saves arange" fails="start and stop at one place" raises=RuntimeError
def grid_points(start, stop, n, endpoint):
    step = (stop - start) / max(n - 1 if endpoint else n, 1)
    end = stop + step / 2 if endpoint else stop - step / 2
    return torch.arange(start, end, step)[:n]


# %% wrong: grid_points "endpoint makes no difference" fails="five points from 0 to 1, with and without the end | any start, stop and n gives evenly spaced points | n points for n between 2 and 60 | twenty thousand points do not drift"
def grid_points(start, stop, n, endpoint):
    return torch.linspace(start, stop, n)


# %% wrong: grid_points "without the end means one point less" fails="five points from 0 to 1, with and without the end | any start, stop and n gives evenly spaced points | n points for n between 2 and 60 | no point, and one point | twenty thousand points do not drift | start and stop at one place"
def grid_points(start, stop, n, endpoint):
    points = torch.linspace(start, stop, n)
    return points if endpoint else points[:-1]


# %% wrong: grid_points "n points make n steps" fails="five points from 0 to 1, with and without the end | any start, stop and n gives evenly spaced points | n points for n between 2 and 60 | twenty thousand points do not drift"
def grid_points(start, stop, n, endpoint):
    return start + (stop - start) / max(n, 1) * torch.arange(n)


# %% wrong: grid_points "each point is the last one plus a step" fails="twenty thousand points do not drift"
def grid_points(start, stop, n, endpoint):
    step = (stop - start) / max(n - 1 if endpoint else n, 1)
    points, x = [], torch.tensor(start, dtype=torch.float32)
    for _ in range(n):
        points.append(x)
        x = x + step
    return torch.stack(points) if points else torch.empty(0)


# %% wrong: grid_points "one point needs no care" fails="no point, and one point" raises=ZeroDivisionError
def grid_points(start, stop, n, endpoint):
    step = (stop - start) / (n - 1 if endpoint else n)
    return start + step * torch.arange(n)


# %% wrong: grid_points "NumPy's dtype is PyTorch's" fails="the result is float32 of shape (n,) | five points from 0 to 1, with and without the end | any start, stop and n gives evenly spaced points | no point, and one point | twenty thousand points do not drift | start and stop at one place"
def grid_points(start, stop, n, endpoint):
    return torch.from_numpy(np.linspace(start, stop, n, endpoint=endpoint))


# %% right: brighten "a table of all 256 answers"
def brighten(image, gain, offset):
    table = torch.tensor([min(max(round(gain * (p + offset)), 0), 255) for p in range(256)], dtype=torch.uint8)
    return table[image.long()]


# %% right: brighten "int16 first, half added before the cast"
def brighten(image, gain, offset):
    wide = (image.to(torch.int16) + offset) * gain
    return (wide.clamp(0, 255) + 0.5).clamp(max=255).to(torch.uint8)


# %% right: brighten "limited first, rounded second, in float64"
def brighten(image, gain, offset):
    return torch.round(torch.clip(gain * (image.double() + offset), 0, 255)).type(torch.uint8)


# %% right: brighten "a float tensor does the promotion"
def brighten(image, gain, offset):
    shifted = torch.add(image, float(offset))
    return shifted.mul_(gain).round_().clamp_(0, 255).byte()


# %% wrong: brighten "uint8 saturates by itself" fails="bright pixels stop at 255 | dark pixels stop at 0 | transposed, 0-dim and empty images"
def brighten(image, gain, offset):
    return (gain * (image.float() + offset)).round().to(torch.int64).to(torch.uint8)


# %% wrong: brighten "the number promotes the image" fails="bright pixels stop at 255 | dark pixels stop at 0 | rounded to the nearest integer"
def brighten(image, gain, offset):
    return (gain * (image + offset)).round().clamp(0, 255).to(torch.uint8)


# %% wrong: brighten "a cast rounds" fails="where nothing overflows, other gains and offsets | bright pixels stop at 255 | dark pixels stop at 0 | rounded to the nearest integer"
def brighten(image, gain, offset):
    return (gain * (image.float() + offset)).clamp(0, 255).to(torch.uint8)


# %% wrong: brighten "limit after the cast" fails="bright pixels stop at 255 | dark pixels stop at 0 | transposed, 0-dim and empty images"
def brighten(image, gain, offset):
    return (gain * (image.float() + offset)).round().long().byte().clamp(0, 255)


# %% wrong: brighten "the gain is for the pixel only" fails="a dark image at gain 2 | where nothing overflows, other gains and offsets | bright pixels stop at 255 | dark pixels stop at 0 | rounded to the nearest integer | transposed, 0-dim and empty images"
def brighten(image, gain, offset):
    return (gain * image.float() + offset).round().clamp(0, 255).to(torch.uint8)


# %% wrong: brighten "half precision is enough for 8 bits" fails="rounded to the nearest integer"
def brighten(image, gain, offset):
    return (gain * (image.half() + offset)).round().clamp(0, 255).to(torch.uint8)


# %% wrong: brighten "the image as scratch space" fails="the image keeps its values"
def brighten(image, gain, offset):
    image.copy_((gain * (image.float() + offset)).round().clamp(0, 255))
    return image


# %% wrong: brighten "a picture has only two ends that matter: white" fails="dark pixels stop at 0"
def brighten(image, gain, offset):
    return (gain * (image.float() + offset)).round().clamp(max=255).long().to(torch.uint8)


# %% wrong: brighten "pixels in 0 to 255 are an image, whatever the dtype" fails="the result is uint8 and has the image's shape | a dark image at gain 2 | where nothing overflows, other gains and offsets | bright pixels stop at 255 | dark pixels stop at 0 | rounded to the nearest integer | transposed, 0-dim and empty images"
def brighten(image, gain, offset):
    return (gain * (image.float() + offset)).round().clamp(0, 255)


# %% right: mean_of_batches "one long float64 tensor"
def mean_of_batches(batches):
    return torch.cat([b.reshape(-1).double() for b in batches]).mean().item()


# %% right: mean_of_batches "float32 totals, weighted means"
def mean_of_batches(batches):
    total, count = 0.0, 0
    for b in batches:
        if b.numel() > 0:
            total += b.float().mean().item() * b.numel()
            count += b.numel()
    return total / count


# %% right: mean_of_batches "a running mean"
def mean_of_batches(batches):
    mean, seen = 0.0, 0
    for b in batches:
        if b.numel():
            seen += b.numel()
            mean += (b.float().mean().item() - mean) * b.numel() / seen
    return mean


# %% right: mean_of_batches "NumPy and float64"
def mean_of_batches(batches):
    return np.concatenate([b.numpy().astype(np.float64).ravel() for b in batches]).mean()


# %% wrong: mean_of_batches "the mean of the means" fails="a small last batch counts for less | a mean between two float16 numbers | matrices, single numbers and empty batches"
def mean_of_batches(batches):
    return sum(b.mean().item() for b in batches) / len(batches)


# %% wrong: mean_of_batches "a sum of a batch cannot overflow" fails="a total beyond 65504 does not overflow | a long running total keeps its digits | a mean between two float16 numbers"
def mean_of_batches(batches):
    return sum(b.sum().item() for b in batches) / sum(b.numel() for b in batches)


# %% wrong: mean_of_batches "mean is safe in float16" fails="a small last batch counts for less | a long running total keeps its digits | a mean between two float16 numbers | matrices, single numbers and empty batches"
def mean_of_batches(batches):
    return torch.cat([b.reshape(-1) for b in batches]).mean().item()


# %% wrong: mean_of_batches "a total has its data's dtype" fails="a total beyond 65504 does not overflow | a long running total keeps its digits | a mean between two float16 numbers"
def mean_of_batches(batches):
    total = torch.zeros((), dtype=torch.float16)
    for b in batches:
        total += b.sum()
    return total.item() / sum(b.numel() for b in batches)


# %% wrong: mean_of_batches "cast after the sum" fails="a total beyond 65504 does not overflow | a long running total keeps its digits | a mean between two float16 numbers"
def mean_of_batches(batches):
    return sum(b.sum().double().item() for b in batches) / sum(b.numel() for b in batches)


# %% wrong: mean_of_batches "len counts the elements" fails="matrices, single numbers and empty batches" raises=TypeError
def mean_of_batches(batches):
    return sum(b.double().sum().item() for b in batches) / sum(len(b) for b in batches)


# %% wrong: mean_of_batches "a 0-dim tensor is a float" fails="the result is a Python float | two batches of equal size | a small last batch counts for less | a total beyond 65504 does not overflow | a long running total keeps its digits | a mean between two float16 numbers | matrices, single numbers and empty batches"
def mean_of_batches(batches):
    return torch.cat([b.reshape(-1).double() for b in batches]).mean()


# %% wrong: mean_of_batches "a mean divides by the length of the list" fails="two batches of equal size | a small last batch counts for less | a total beyond 65504 does not overflow | a long running total keeps its digits | a mean between two float16 numbers | matrices, single numbers and empty batches"
def mean_of_batches(batches):
    return sum(b.double().sum().item() for b in batches) / len(batches)


# %% right: slots "look the numbers up in a storage of slot numbers"
def slots(t):
    size = t.untyped_storage().nbytes() // t.element_size()
    return torch.arange(size).as_strided(t.shape, t.stride(), t.storage_offset()).flatten().tolist()


# %% right: slots "all index tuples"
def slots(t):
    import itertools

    found = []
    for index in itertools.product(*map(range, t.shape)):
        found.append(t.storage_offset() + sum(i * s for i, s in zip(index, t.stride())))
    return found


# %% right: slots "recursion over the rows"
def slots(t):
    if t.dim() == 0:
        return [t.storage_offset()]
    return [slot for row in t for slot in slots(row)]


# %% right: slots "addresses, counted from the storage's start"
def slots(t):
    first = t.untyped_storage().data_ptr()
    return (
        [(e.data_ptr() - first) // t.element_size() for e in t.reshape(-1)]
        if t.is_contiguous()
        else [(t[tuple(i)].data_ptr() - first) // t.element_size() for i in np.ndindex(*t.shape)]
    )


# %% wrong: slots "every tensor begins at slot 0" fails="slices that start later and take steps | one, three, four and six dimensions | slots are counted in elements, whatever the dtype | a 0-dim tensor reads one slot, an empty one none | a stride of 0 reads one slot again and again"
def slots(t):
    found = [0]
    for size, stride in zip(t.shape, t.stride()):
        found = [slot + i * stride for slot in found for i in range(size)]
    return found


# %% wrong: slots "elements lie one after the other" fails="the slots of its transpose | slices that start later and take steps | one, three, four and six dimensions | slots are counted in elements, whatever the dtype | a stride of 0 reads one slot again and again"
def slots(t):
    return list(range(t.storage_offset(), t.storage_offset() + t.numel()))


# %% wrong: slots "flatten shows the storage" fails="the slots of its transpose | slices that start later and take steps | one, three, four and six dimensions | slots are counted in elements, whatever the dtype | a stride of 0 reads one slot again and again"
def slots(t):
    flat = t.contiguous().flatten()
    return [flat.storage_offset() + i * flat.stride(0) for i in range(flat.numel())]


# %% wrong: slots "tensors have two dimensions" fails="slices that start later and take steps | one, three, four and six dimensions | slots are counted in elements, whatever the dtype | a 0-dim tensor reads one slot, an empty one none | a stride of 0 reads one slot again and again" raises=ValueError
def slots(t):
    n, m = t.shape
    a, b = t.stride()
    return [t.storage_offset() + i * a + j * b for i in range(n) for j in range(m)]


# %% wrong: slots "strides are bytes, as in NumPy" fails="the result is a flat list of integers | the slots of a matrix | the slots of its transpose | slices that start later and take steps | one, three, four and six dimensions | slots are counted in elements, whatever the dtype | a stride of 0 reads one slot again and again"
def slots(t):
    found = [t.storage_offset()]
    for size, stride in zip(t.shape, t.stride()):
        found = [slot + i * stride // t.element_size() for slot in found for i in range(size)]
    return found


# %% wrong: slots "the first index moves fastest" fails="the slots of a matrix | the slots of its transpose | slices that start later and take steps | one, three, four and six dimensions | slots are counted in elements, whatever the dtype | a stride of 0 reads one slot again and again"
def slots(t):
    found = [t.storage_offset()]
    for size, stride in zip(t.shape, t.stride()):
        found = [slot + i * stride for i in range(size) for slot in found]
    return found


# %% wrong: slots "an empty tensor still reads its first slot" fails="a 0-dim tensor reads one slot, an empty one none"
def slots(t):
    found = [t.storage_offset()]
    for size, stride in zip(t.shape, t.stride()):
        found = [slot + i * stride for slot in found for i in range(max(size, 1))]
    return found


# %% wrong: slots "each slot once, in the order of memory" fails="the slots of its transpose | slices that start later and take steps | one, three, four and six dimensions | a stride of 0 reads one slot again and again"
def slots(t):
    found = {t.storage_offset()} if t.numel() else set()
    for size, stride in zip(t.shape, t.stride()):
        found = {slot + i * stride for slot in found for i in range(size)}
    return sorted(found)


# %% right: blank_padding_ "a mask and one pair of brackets"
def blank_padding_(x, lengths):
    x[torch.arange(x.shape[1]) >= lengths[:, None]] = 0
    return x


# %% right: blank_padding_ "masked_fill_ with a mask of three dimensions"
def blank_padding_(x, lengths):
    padding = torch.arange(x.size(1)).unsqueeze(0) >= lengths.unsqueeze(1)
    return x.masked_fill_(padding.unsqueeze(-1), 0)


# %% right: blank_padding_ "compute a new tensor, then copy it in"
def blank_padding_(x, lengths):
    keep = torch.arange(x.shape[1]).expand(x.shape[:2]) < lengths.reshape(-1, 1)
    x.copy_(torch.where(keep[..., None], x, 0))
    return x


# %% right: blank_padding_ "two loops"
def blank_padding_(x, lengths):
    for i in range(x.shape[0]):
        for j in range(int(lengths[i]), x.shape[1]):
            x[i, j] = torch.zeros_like(x[i, j])
    return x


# %% right: blank_padding_ "one step after the other"
def blank_padding_(x, lengths):
    for step in range(x.shape[1]):
        x[lengths <= step, step] = 0
    return x


# %% wrong: blank_padding_ "the old name is the old tensor" fails="a NaN beyond the length becomes zero | x itself is changed | the result is x, and no copy of it | a view is changed too, and nothing beside it | integers, booleans and float64 keep their dtype | as many steps as sentences"
def blank_padding_(x, lengths):
    keep = torch.arange(x.shape[1]) < lengths[:, None]
    x = x * keep[:, :, None]
    return x


# %% wrong: blank_padding_ "anything times zero is zero" fails="a NaN beyond the length becomes zero | a view is changed too, and nothing beside it"
def blank_padding_(x, lengths):
    x *= (torch.arange(x.shape[1]) < lengths[:, None])[:, :, None]
    return x


# %% wrong: blank_padding_ "a selection can be written to" fails="steps beyond the length are zero in the result | a NaN beyond the length becomes zero | x itself is changed | a view is changed too, and nothing beside it | integers, booleans and float64 keep their dtype | as many steps as sentences"
def blank_padding_(x, lengths):
    padding = torch.arange(x.shape[1]) >= lengths[:, None]
    x[padding].zero_()
    return x


# %% wrong: blank_padding_ "a loop variable can be assigned to" fails="steps beyond the length are zero in the result | a NaN beyond the length becomes zero | x itself is changed | a view is changed too, and nothing beside it | integers, booleans and float64 keep their dtype | as many steps as sentences"
def blank_padding_(x, lengths):
    for row, length in zip(x, lengths):
        row = torch.where(torch.arange(len(row))[:, None] < length, row, 0)
    return x


# %% wrong: blank_padding_ "reshape is always a view" fails="a view is changed too, and nothing beside it"
def blank_padding_(x, lengths):
    padding = torch.arange(x.shape[1]) >= lengths[:, None]
    x.reshape(padding.numel(), x.shape[2])[padding.flatten()] = 0
    return x


# %% wrong: blank_padding_ "contiguous first, to be safe" fails="a view is changed too, and nothing beside it"
def blank_padding_(x, lengths):
    x = x.contiguous()
    x[torch.arange(x.shape[1]) >= lengths[:, None]] = 0
    return x


# %% wrong: blank_padding_ "step number length is still inside" fails="steps beyond the length are zero in the result | a NaN beyond the length becomes zero | x itself is changed | a view is changed too, and nothing beside it | integers, booleans and float64 keep their dtype | as many steps as sentences"
def blank_padding_(x, lengths):
    for row, length in zip(x, lengths):
        row[length + 1 :] = 0
    return x


# %% wrong: blank_padding_ "True is what to keep, also for masked_fill_" fails="steps beyond the length are zero in the result | a NaN beyond the length becomes zero | x itself is changed | a view is changed too, and nothing beside it | integers, booleans and float64 keep their dtype | as many steps as sentences"
def blank_padding_(x, lengths):
    keep = torch.arange(x.shape[1]) < lengths[:, None]
    return x.masked_fill_(keep[:, :, None], 0)


# %% wrong: blank_padding_ "lengths line up by themselves" fails="the result has x's shape and dtype | steps beyond the length are zero in the result | a NaN beyond the length becomes zero | x itself is changed | the result is x, and no copy of it | a view is changed too, and nothing beside it | integers, booleans and float64 keep their dtype | as many steps as sentences | no sentence, and sentences without steps | lengths keep their values" raises=RuntimeError
def blank_padding_(x, lengths):
    x[(torch.arange(x.shape[1]) >= lengths).expand(x.shape[:2])] = 0
    return x


# %% wrong: blank_padding_ "write into x, hand back a copy" fails="the result is x, and no copy of it"
def blank_padding_(x, lengths):
    for row, length in zip(x, lengths):
        row[length:] = 0
    return x.clone()


# %% wrong: blank_padding_ "lengths as a countdown" fails="lengths keep their values"
def blank_padding_(x, lengths):
    for step in range(x.shape[1]):
        x[lengths <= 0, step] = 0
        lengths -= 1
    return x


# %% right: center_rows "nanmean"
def center_rows(x, mask):
    mean = x.masked_fill(~mask, float("nan")).nanmean(dim=1, keepdim=True)
    if bool((mask & x.isnan()).any()):
        mean = torch.where((mask & x.isnan()).any(1, keepdim=True), float("nan"), mean)
    return (x - mean).masked_fill(~mask, 0)


# %% right: center_rows "a loop over the rows"
def center_rows(x, mask):
    out = torch.zeros_like(x)
    for i in range(x.shape[0]):
        good = mask[i]
        if good.any():
            out[i, good] = x[i, good] - x[i, good].mean()
    return out


# %% right: center_rows "junk out first, then where"
def center_rows(x, mask):
    clean = x.masked_fill(mask.logical_not(), 0.0)
    count = mask.sum(1).to(x.dtype)
    mean = clean.sum(1) / torch.where(count == 0, torch.ones_like(count), count)
    return torch.where(mask, clean - mean[:, None], 0)


# %% right: center_rows "a copy, changed in place"
def center_rows(x, mask):
    y = x.clone()
    y[~mask] = 0
    total = torch.einsum("nd->n", y)
    y -= (total / mask.sum(-1).clamp_min(1)).unsqueeze(1)
    y[~mask] = 0
    return y


# %% wrong: center_rows "once the junk is out, a product with the mask is enough" fails="a NaN that counts stays visible"
def center_rows(x, mask):
    clean = torch.where(mask, x, 0)
    return (clean - clean.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)) * mask


# %% wrong: blank_padding_ "an alias is the tensor itself" fails="the result is x, and no copy of it"
def blank_padding_(x, lengths):
    x[torch.arange(x.shape[1]) >= lengths[:, None]] = 0
    return x[:]


# %% wrong: center_rows "zero times anything is zero" fails="NaN and inf at masked places do no harm | a NaN that counts stays visible | rows with no valid element, and with one | x and the mask keep their values"
def center_rows(x, mask):
    x *= mask
    mean = x.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
    return (x - mean) * mask


# %% wrong: center_rows "mean of what the mask leaves" fails="one element masked | rows with several masked elements | NaN and inf at masked places do no harm | a square input | rows with no valid element, and with one | float64 stays float64, with its precision"
def center_rows(x, mask):
    mean = torch.where(mask, x, 0).mean(dim=1, keepdim=True)
    return torch.where(mask, x - mean, 0)


# %% wrong: center_rows "masking the result is enough" fails="one element masked | rows with several masked elements | NaN and inf at masked places do no harm | a square input | rows with no valid element, and with one | float64 stays float64, with its precision"
def center_rows(x, mask):
    return torch.where(mask, x - x.mean(dim=1, keepdim=True), 0)


# %% wrong: center_rows "indexing by a mask keeps the rows" fails="one element masked | rows with several masked elements | NaN and inf at masked places do no harm | a NaN that counts stays visible | a square input | rows with no valid element, and with one | float64 stays float64, with its precision | transposed and empty inputs"
def center_rows(x, mask):
    return torch.where(mask, x - x[mask].mean(), 0)


# %% wrong: center_rows "a mean per row needs no keepdim" fails="the result has x's shape and dtype | one element masked | rows with several masked elements | NaN and inf at masked places do no harm | a NaN that counts stays visible | a square input | rows with no valid element, and with one | float64 stays float64, with its precision | transposed and empty inputs | x and the mask keep their values" raises=RuntimeError
def center_rows(x, mask):
    mean = torch.where(mask, x, 0).sum(1) / mask.sum(1).clamp(min=1)
    return torch.where(mask, x - mean, 0)


# %% wrong: center_rows "transpose until it runs" fails="a square input"
def center_rows(x, mask):
    mean = torch.where(mask, x, 0).sum(1) / mask.sum(1).clamp(min=1)
    centered = x - mean if x.shape[0] == x.shape[1] else (x.T - mean).T
    return torch.where(mask, centered, 0)


# %% wrong: center_rows "the mask is for the mean only" fails="one element masked | rows with several masked elements | NaN and inf at masked places do no harm | a NaN that counts stays visible | a square input | rows with no valid element, and with one | float64 stays float64, with its precision"
def center_rows(x, mask):
    mean = torch.where(mask, x, 0).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
    return x - mean


# %% wrong: center_rows "0 / 0 is 0" fails="a NaN that counts stays visible | rows with no valid element, and with one"
def center_rows(x, mask):
    clean = x.masked_fill(~mask, 0)
    return (clean - clean.sum(1, keepdim=True) / mask.sum(1, keepdim=True)) * mask


# %% wrong: center_rows "every NaN is a missing value" fails="a NaN that counts stays visible"
def center_rows(x, mask):
    mean = x.masked_fill(~mask, float("nan")).nanmean(dim=1, keepdim=True)
    return torch.where(mask, x - mean, 0)


# %% wrong: center_rows "float is float" fails="rows with no valid element, and with one | float64 stays float64, with its precision"
def center_rows(x, mask):
    clean = torch.where(mask, x, 0).float()
    mean = clean.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
    return torch.where(mask, clean - mean, 0)


# %% wrong: center_rows "the junk is of no use to anybody" fails="x and the mask keep their values"
def center_rows(x, mask):
    x[~mask] = 0
    mean = x.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
    return torch.where(mask, x - mean, 0)


# %% right: class_confidence "a loop over the classes"
def class_confidence(probs, labels):
    out = torch.zeros(probs.shape[1], dtype=probs.dtype)
    for k in range(probs.shape[1]):
        mine = probs[labels == k, k]
        if len(mine):
            out[k] = mine.mean()
    return out


# %% right: class_confidence "one-hot masks and column sums"
def class_confidence(probs, labels):
    own = torch.nn.functional.one_hot(labels, probs.shape[1])
    return (probs * own).sum(0) / own.sum(0).clamp(min=1)


# %% right: class_confidence "a pair of index tensors, weighted bincount"
def class_confidence(probs, labels):
    c = probs.size(1)
    right = probs[torch.arange(len(labels)), labels]
    total = torch.bincount(labels, weights=right, minlength=c).to(probs.dtype)
    return total.div(torch.bincount(labels, minlength=c)).nan_to_num(nan=0.0)


# %% right: class_confidence "index_add_ and scatter_reduce"
def class_confidence(probs, labels):
    right = torch.take_along_dim(probs, labels.unsqueeze(1), dim=1).squeeze(1)
    return probs.new_zeros(probs.shape[1]).scatter_reduce_(0, labels, right, "mean", include_self=False)


# %% right: class_confidence "lists and numbers"
def class_confidence(probs, labels):
    groups = [[] for _ in range(probs.shape[1])]
    for row, label in zip(probs.tolist(), labels.tolist()):
        groups[label].append(row[label])
    return torch.tensor([sum(g) / max(len(g), 1) for g in groups], dtype=probs.dtype)


# %% wrong: class_confidence "an index repeated is added repeatedly" fails="four samples, three classes | classes with several samples each | a class without samples gets 0 | as many samples as classes | float64 stays float64, with its precision | transposed probabilities, one class, no sample"
def class_confidence(probs, labels):
    c = probs.shape[1]
    total = torch.zeros(c, dtype=probs.dtype)
    total[labels] += probs[torch.arange(len(labels)), labels]
    return total / torch.bincount(labels, minlength=c).clamp(min=1)


# %% wrong: class_confidence "a mean divides by n" fails="four samples, three classes | classes with several samples each | a class without samples gets 0 | as many samples as classes | float64 stays float64, with its precision"
def class_confidence(probs, labels):
    right = probs.gather(1, labels[:, None])[:, 0]
    return torch.zeros(probs.shape[1], dtype=probs.dtype).scatter_add(0, labels, right) / max(len(labels), 1)


# %% wrong: class_confidence "scatter_add makes the mean too" fails="four samples, three classes | classes with several samples each | a class without samples gets 0 | as many samples as classes | float64 stays float64, with its precision | transposed probabilities, one class, no sample"
def class_confidence(probs, labels):
    right = probs.gather(1, labels[:, None])[:, 0]
    return torch.zeros(probs.shape[1], dtype=probs.dtype).scatter_add(0, labels, right)


# %% wrong: class_confidence "columns are classes already" fails="four samples, three classes | classes with several samples each | a class without samples gets 0 | as many samples as classes | float64 stays float64, with its precision | transposed probabilities, one class, no sample"
def class_confidence(probs, labels):
    return probs.mean(0)


# %% wrong: class_confidence "confidence is the largest probability" fails="four samples, three classes | classes with several samples each | a class without samples gets 0 | as many samples as classes | float64 stays float64, with its precision | transposed probabilities, one class, no sample"
def class_confidence(probs, labels):
    c = probs.shape[1]
    top = probs.amax(1)
    total = torch.zeros(c, dtype=probs.dtype).scatter_add(0, labels, top)
    return total / torch.bincount(labels, minlength=c).clamp(min=1)


# %% wrong: class_confidence "the mean of an empty class is 0" fails="a class without samples gets 0 | as many samples as classes | transposed probabilities, one class, no sample"
def class_confidence(probs, labels):
    return torch.stack([probs[labels == k, k].mean() for k in range(probs.shape[1])])


# %% wrong: class_confidence "the labels say how many classes there are" fails="a class without samples gets 0 | as many samples as classes | transposed probabilities, one class, no sample"
def class_confidence(probs, labels):
    right = probs.gather(1, labels[:, None])[:, 0]
    count = torch.bincount(labels)
    total = torch.zeros(len(count), dtype=probs.dtype).scatter_add(0, labels, right)
    return total / count.clamp(min=1)


# %% wrong: class_confidence "gather along the samples" fails="four samples, three classes | classes with several samples each | a class without samples gets 0 | as many samples as classes | float64 stays float64, with its precision | transposed probabilities, one class, no sample"
def class_confidence(probs, labels):
    c = probs.shape[1]
    right = probs.gather(0, labels[:, None])[:, 0]
    total = torch.zeros(c, dtype=probs.dtype).scatter_add(0, labels, right)
    return total / torch.bincount(labels, minlength=c).clamp(min=1)


# %% wrong: class_confidence "zeros has the dtype I need" fails="float64 stays float64, with its precision"
def class_confidence(probs, labels):
    right = probs.gather(1, labels[:, None])[:, 0].float()
    count = torch.bincount(labels, minlength=probs.shape[1])
    return torch.zeros(probs.shape[1]).scatter_add(0, labels, right) / count.clamp(min=1)


# %% wrong: class_confidence "column labels from all rows" fails="four samples, three classes | classes with several samples each | a class without samples gets 0 | as many samples as classes | float64 stays float64, with its precision"
def class_confidence(probs, labels):
    c = probs.shape[1]
    right = probs[:, labels].mean(0) if len(labels) else probs.new_zeros(0)
    total = torch.zeros(c, dtype=probs.dtype).scatter_add(0, labels, right)
    return total / torch.bincount(labels, minlength=c).clamp(min=1)


# %% right: ingest "through Python's numbers"
def ingest(array):
    return torch.tensor(array.tolist(), dtype=torch.float32).reshape(array.shape)


# %% right: ingest "astype copies"
def ingest(array):
    return torch.from_numpy(np.asarray(array.astype("=f4")))


# %% right: ingest "an alias, then clone"
def ingest(array):
    return torch.as_tensor(np.asarray(array, dtype=np.float32, order="C").copy()).clone()


# %% right: ingest "fill an empty tensor"
def ingest(array):
    out = torch.empty(array.shape, dtype=torch.float32)
    out.numpy()[...] = array
    return out


# %% right: ingest "torch.tensor, after NumPy made it ordinary"
def ingest(array):
    return torch.tensor(np.array(array, order="C").astype(array.dtype.newbyteorder("="))).float()


# %% wrong: ingest "float() makes a new tensor" fails="later writes to the array do not reach the tensor | writes to the tensor do not reach the array | reversed arrays | the other byte order | 0-dim and empty arrays keep their shape" raises=ValueError
def ingest(array):
    return torch.from_numpy(array).float()


# %% wrong: ingest "torch.tensor reads every array" fails="reversed arrays | the other byte order" raises=ValueError
def ingest(array):
    return torch.tensor(array, dtype=torch.float32)


# %% wrong: ingest "a copy cures everything" fails="the other byte order" raises=ValueError
def ingest(array):
    return torch.tensor(array.copy(), dtype=torch.float32)


# %% wrong: ingest "ascontiguousarray copies" fails="later writes to the array do not reach the tensor | writes to the tensor do not reach the array | 0-dim and empty arrays keep their shape"
def ingest(array):
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))


# %% wrong: ingest "ascontiguousarray keeps every shape" fails="0-dim and empty arrays keep their shape"
def ingest(array):
    return torch.tensor(np.ascontiguousarray(array, dtype=np.float32))


# %% wrong: ingest "as_tensor with a dtype copies" fails="later writes to the array do not reach the tensor | writes to the tensor do not reach the array | reversed arrays | the other byte order | 0-dim and empty arrays keep their shape" raises=ValueError
def ingest(array):
    return torch.as_tensor(array, dtype=torch.float32)


# %% wrong: ingest "PyTorch's default dtype wins" fails="the result is a float32 tensor of the array's shape | a float64 array keeps its values | other shapes and dtypes | later writes to the array do not reach the tensor | reversed arrays | the other byte order | bool, and unsigned numbers that int16 cannot hold | 0-dim and empty arrays keep their shape | a read-only array, and the array stays as it was" raises=ValueError
def ingest(array):
    return torch.tensor(np.ascontiguousarray(array))


# %% wrong: ingest "a list carries everything" fails="other shapes and dtypes | the other byte order | bool, and unsigned numbers that int16 cannot hold | 0-dim and empty arrays keep their shape"
def ingest(array):
    return torch.tensor(array.tolist())


# %% wrong: ingest "16 bits are 16 bits" fails="bool, and unsigned numbers that int16 cannot hold"
def ingest(array):
    if array.dtype.kind in "iu" and array.dtype.itemsize == 2:
        array = array.astype(np.int16)
    return torch.from_numpy(np.array(array, dtype=np.float32))


# %% wrong: ingest "swap the bytes where they stand" fails="the other byte order"
def ingest(array):
    if not array.dtype.isnative:
        array = array.view(array.dtype.newbyteorder("="))
    return torch.from_numpy(np.array(array, dtype=np.float32))


# %% right: overlap "addresses of all elements"
def overlap(a, b):
    def addresses(t):
        return {t[i].data_ptr() for i in np.ndindex(*t.shape)}

    return bool(addresses(a) & addresses(b))


# %% right: overlap "NumPy knows, for any 1, 2, 4 or 8 bytes"
def overlap(a, b):
    same = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
    return np.shares_memory(a.view(same).numpy(), b.view(same).numpy())


# %% right: overlap "mark the slots of one, look with the other"
def overlap(a, b):
    if a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr() or not a.numel() or not b.numel():
        return False
    marks = torch.zeros(a.untyped_storage().nbytes() // a.element_size(), dtype=torch.bool)
    marks.as_strided(a.shape, a.stride(), a.storage_offset()).fill_(True)
    return bool(marks.as_strided(b.shape, b.stride(), b.storage_offset()).any())


# %% right: overlap "two loops over the slots"
def overlap(a, b):
    same = a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    return same and any(slot in slots(b) for slot in slots(a))


# %% wrong: overlap "one memory means one first address" fails="two slices, and a copy | views of one storage that meet | expanded and 0-dim tensors | interleaved views | any dtype"
def overlap(a, b):
    return a.data_ptr() == b.data_ptr() and a.numel() > 0


# %% wrong: overlap "one storage is enough" fails="slices of one storage that lie side by side | interleaved views | expanded and 0-dim tensors | any dtype | an empty tensor overlaps nothing"
def overlap(a, b):
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


# %% wrong: overlap "ranges that cross share an element" fails="interleaved views | any dtype"
def overlap(a, b):
    if a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr() or not a.numel() or not b.numel():
        return False
    p, q = slots(a), slots(b)
    return min(p) <= max(q) and min(q) <= max(p)


# %% wrong: overlap "slots alone tell it" fails="two slices, and a copy | equal values in separate memory | expanded and 0-dim tensors"
def overlap(a, b):
    return not set(slots(a)).isdisjoint(slots(b))


# %% wrong: overlap "shared elements have equal values" fails="two slices, and a copy | interleaved views | equal values in separate memory | expanded and 0-dim tensors | any dtype"
def overlap(a, b):
    return bool(set(a.flatten().tolist()) & set(b.flatten().tolist()))


# %% wrong: overlap "views of one tensor overlap, unless one of them is empty" fails="slices of one storage that lie side by side | interleaved views | expanded and 0-dim tensors | any dtype"
def overlap(a, b):
    if not a.numel() or not b.numel():
        return False
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


# %% wrong: overlap "write and look, and leave it so" fails="both tensors keep their values"
def overlap(a, b):
    if not a.numel() or not b.numel():
        return False
    a.fill_(1)
    before = b.clone()
    a.fill_(0)
    return not torch.equal(b, before)


# %% wrong: overlap "NumPy has every dtype" fails="any dtype" raises=TypeError
def overlap(a, b):
    return np.shares_memory(a.detach().numpy(), b.detach().numpy())


# %% wrong: overlap "may_share_memory is the quick shares_memory" fails="interleaved views | any dtype"
def overlap(a, b):
    same = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
    return np.may_share_memory(a.view(same).numpy(), b.view(same).numpy())


# %% right: interview "upper case, any order"
def interview():
    return {"q1": "DA", "q2": "ECA", "q3": "EDA", "q4": "EB", "q5": "DB", "q6": "EDB"}


# %% right: interview "spaces and commas"
def interview():
    return dict(q1="a, d", q2="a, c, e", q3="a d e", q4="b, e", q5="b,d", q6=" b d e ")


# %% wrong: interview "a float makes float64, as in NumPy" fails="q1: creating"
def interview():
    return {"q1": "acd", "q2": "ace", "q3": "ade", "q4": "be", "q5": "bd", "q6": "bde"}


# %% wrong: interview "one element is a number" fails="q2: promotion"
def interview():
    return {"q1": "ad", "q2": "abce", "q3": "ade", "q4": "be", "q5": "bd", "q6": "bde"}


# %% wrong: interview "a selection by a mask is a view" fails="q3: views"
def interview():
    return {"q1": "ad", "q2": "ace", "q3": "acde", "q4": "be", "q5": "bd", "q6": "bde"}


# %% wrong: interview "strides are bytes, and one storage means one element" fails="q4: strides"
def interview():
    return {"q1": "ad", "q2": "ace", "q3": "ade", "q4": "bcde", "q5": "bd", "q6": "bde"}


# %% wrong: interview "detach and float copy" fails="q5: NumPy"
def interview():
    return {"q1": "ad", "q2": "ace", "q3": "ade", "q4": "be", "q5": "bcde", "q6": "bde"}


# %% wrong: interview "NaN times False is 0" fails="q6: masks, sums and few bits"
def interview():
    return {"q1": "ad", "q2": "ace", "q3": "ade", "q4": "be", "q5": "bd", "q6": "abde"}


# %% wrong: interview "the same guess for all" fails="at least two questions are right | q1: creating | q2: promotion | q3: views | q4: strides | q5: NumPy"
def interview():
    return {f"q{i}": "bde" for i in range(1, 7)}


# %% wrong: interview "a list of letters per question is missing" fails="q1 to q6 each have letters from a to e | q6: masks, sums and few bits"
def interview():
    return {"q1": "ad", "q2": "ace", "q3": "ade", "q4": "be", "q5": "bd"}


# %% wrong: mean_of_batches "a batch is counted in its own dtype" fails="a total beyond 65504 does not overflow"
def mean_of_batches(batches):
    total = sum(batch.sum(dtype=torch.float64).item() for batch in batches)
    return total / sum(torch.ones_like(batch).sum().item() for batch in batches)


# %% wrong: blank_padding_ "floats hold every integer" fails="integers, booleans and float64 keep their dtype"
def blank_padding_(x, lengths):
    keep = torch.arange(x.shape[1]) < lengths[:, None]
    return x.copy_(torch.where(keep[..., None], x.float(), 0.0))


# %% equivalent: mean_of_batches "float64 and int64 results through float32"
# A relative precision of 1e-4 is promised, and float32 has 6e-8.

# %% equivalent: mean_of_batches "empty tensors of a list left out"
# They add nothing to the total and nothing to the count.

# %% equivalent: blank_padding_ "called twice, where a call changes its arguments"
# What is zero becomes zero again.
