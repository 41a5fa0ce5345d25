# Answers for the exercises of lab.py beside this file: each right one is a way that somebody really writes it,
# each wrong one a belief that somebody really holds.
# %% right: descend "a leaf that is changed in place, and clones of it"
def descend(f, x, lr, steps):
    w = x.detach().clone().requires_grad_()
    points = [w.detach().clone()]
    for _ in range(steps):
        with torch.enable_grad():
            loss = f(w)
        w.grad = None
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        points.append(w.detach().clone())
    return points


# %% right: descend "an optimizer, and copies by addition"
def descend(f, x, lr, steps):
    w = x.detach().clone().requires_grad_()
    optimizer = torch.optim.SGD([w], lr=lr)
    points = [w.detach() + 0]
    with torch.enable_grad():
        for _ in range(steps):
            optimizer.zero_grad()
            f(w).backward()
            optimizer.step()
            points.append(w.detach() + 0)
    return points


# %% right: descend "torch.func.grad"
def descend(f, x, lr, steps):
    points = [x.detach().clone()]
    for _ in range(steps):
        points.append(points[-1] - lr * torch.func.grad(f)(points[-1]))
    return tuple(points)


# %% wrong: descend "detach() is a snapshot" fails="three steps into the bowl | other functions, shapes, step sizes and float64 | the points do not require grad | the points share no memory, and none with x | it works inside torch.no_grad() | an x that requires grad, comes from an operation, or has a .grad"
def descend(f, x, lr, steps):
    w = x.detach().clone().requires_grad_()
    points = [w.detach()]
    with torch.enable_grad():
        for _ in range(steps):
            (grad,) = torch.autograd.grad(f(w), w)
            with torch.no_grad():
                w -= lr * grad
            points.append(w.detach())
    return points


# %% wrong: descend ".grad is the gradient of this step" fails="three steps into the bowl | other functions, shapes, step sizes and float64 | the points do not require grad | the points share no memory, and none with x"
def descend(f, x, lr, steps):
    w = x.detach().clone().requires_grad_()
    points = [w.detach().clone()]
    with torch.enable_grad():
        for _ in range(steps):
            f(w).backward()
            with torch.no_grad():
                w -= lr * w.grad
            points.append(w.detach().clone())
    return points


# %% wrong: descend "the history begins with the first step" fails="three steps into the bowl | other functions, shapes, step sizes and float64 | the points do not require grad | the points share no memory, and none with x | it works inside torch.no_grad() | an x that requires grad, comes from an operation, or has a .grad"
def descend(f, x, lr, steps):
    w = x.detach().clone().requires_grad_()
    points = []
    with torch.enable_grad():
        for _ in range(steps):
            (grad,) = torch.autograd.grad(f(w), w)
            w = (w - lr * grad).detach().requires_grad_()
            points.append(w.detach().clone())
    return points


# %% wrong: descend "recording is always on" fails="it works inside torch.no_grad()" raises=RuntimeError
def descend(f, x, lr, steps):
    points = [x.detach().clone()]
    for _ in range(steps):
        leaf = points[-1].detach().requires_grad_()
        (grad,) = torch.autograd.grad(f(leaf), leaf)
        points.append(points[-1] - lr * grad)
    return points


# %% wrong: descend "the points are leaves, so nothing is recorded" fails="the points do not require grad | the points share no memory, and none with x" raises=RuntimeError
def descend(f, x, lr, steps):
    points = [x.detach().clone().requires_grad_()]
    for _ in range(steps):
        with torch.enable_grad():
            (grad,) = torch.autograd.grad(f(points[-1]), points[-1])
        points.append((points[-1] - lr * grad).detach().requires_grad_())
    return points


# %% wrong: descend "the start is only read" fails="the points share no memory, and none with x"
def descend(f, x, lr, steps):
    points = [x.detach()]
    for _ in range(steps):
        leaf = points[-1].clone().requires_grad_()
        with torch.enable_grad():
            (grad,) = torch.autograd.grad(f(leaf), leaf)
        points.append(points[-1] - lr * grad)
    return points


# %% wrong: descend "the caller's x may be marked, and its .grad used" fails="an x that requires grad, comes from an operation, or has a .grad | x, its requires_grad and its .grad stay as they are" raises=TypeError
def descend(f, x, lr, steps):
    points = [x.detach().clone()]
    x.requires_grad_()
    with torch.enable_grad():
        for i in range(steps):
            leaf = x if i == 0 else points[-1].clone().requires_grad_()
            if i == 0:
                leaf.grad = None
            f(leaf).backward()
            points.append(points[-1] - lr * leaf.grad)
    return points


# %% wrong: descend "it stops where the gradient is zero" fails="other functions, shapes, step sizes and float64"
def descend(f, x: Tensor, lr: float, steps: int) -> list[Tensor]:
    points = [x.detach().clone()]
    with torch.enable_grad():
        for _ in range(steps):
            leaf = points[-1].clone().requires_grad_()
            (g,) = torch.autograd.grad(f(leaf), leaf)
            if not g.any():
                break
            points.append(points[-1] - lr * g)
    return points


# %% right: td_loss "index by rows, and detach the target"
def td_loss(q, target_q, steps, gamma):
    n = len(steps["state"])
    prediction = (steps["state"] @ q)[torch.arange(n), steps["action"]]
    best = (steps["next_state"] @ target_q.detach()).max(dim=1).values
    best = best.masked_fill(steps["done"], 0.0)
    return nn.functional.mse_loss(prediction, steps["reward"] + gamma * best)


# %% right: td_loss "the target in inference mode, cloned"
def td_loss(q, target_q, steps, gamma):
    with torch.inference_mode():
        best = torch.nan_to_num((steps["next_state"] @ target_q).max(1)[0]) * ~steps["done"]
        target = steps["reward"] + gamma * best
    one_hot = nn.functional.one_hot(steps["action"], q.shape[1]).to(q.dtype)
    prediction = ((steps["state"] @ q) * one_hot).sum(1)
    return ((prediction - target.clone()) ** 2).mean()


# %% right: td_loss "step by step, with Python numbers for the target"
def td_loss(q, target_q, steps, gamma):
    total = 0
    for i in range(len(steps["state"])):
        target = steps["reward"][i].item()
        if not steps["done"][i]:
            target += gamma * float((steps["next_state"][i] @ target_q).max().detach())
        total = total + (steps["state"][i] @ q[:, steps["action"][i]] - target) ** 2
    return total / len(steps["state"])


# %% wrong: td_loss "autograd knows what is a target" fails="the gradient for q comes through the prediction only | no gradient reaches target_q"
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    best = (steps["next_state"] @ target_q).amax(1)
    target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction - target).square().mean()


# %% wrong: td_loss "torch.no_grad() holds for the lines below it" fails="the gradient for q comes through the prediction only | no gradient reaches target_q"
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    torch.no_grad()
    best = (steps["next_state"] @ target_q).amax(1)
    target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction - target).square().mean()


# %% wrong: td_loss "the stop belongs to the prediction" fails="a gradient reaches q | the gradient for q comes through the prediction only | no gradient reaches target_q"
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    best = (steps["next_state"] @ target_q).amax(1)
    target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction.detach() - target).square().mean()


# %% wrong: td_loss "nothing that uses a target network is recorded" fails="a gradient reaches q | the gradient for q comes through the prediction only | no gradient reaches target_q" raises=RuntimeError
def td_loss(q, target_q, steps, gamma):
    with torch.no_grad():
        prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
        best = (steps["next_state"] @ target_q).amax(1)
        target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
        return (prediction - target).square().mean()


# %% wrong: td_loss "gather keeps the axis, and broadcasting does the rest" fails="the value for two steps, neither of them the last | other sizes, gammas and float64, with steps that end the program | the gradient for q comes through the prediction only | no gradient reaches target_q | nan in the next state of the last step does no harm"
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None])
    with torch.no_grad():
        best = (steps["next_state"] @ target_q).amax(1)
        target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction - target).square().mean()


# %% wrong: td_loss "a loss is a sum" fails="the value for two steps, neither of them the last | other sizes, gammas and float64, with steps that end the program | the gradient for q comes through the prediction only | no gradient reaches target_q | nan in the next state of the last step does no harm"
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    with torch.no_grad():
        best = (steps["next_state"] @ target_q).amax(1)
        target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction - target).square().sum()


# %% wrong: td_loss "every step has a next state" fails="other sizes, gammas and float64, with steps that end the program | the gradient for q comes through the prediction only | no gradient reaches target_q | nan in the next state of the last step does no harm"
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    target = steps["reward"] + gamma * (steps["next_state"] @ target_q).amax(1).detach()
    return (prediction - target).square().mean()


# %% wrong: td_loss "a factor of zero takes everything out" fails="nan in the next state of the last step does no harm"
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    best = (steps["next_state"] @ target_q).amax(1).detach()
    target = steps["reward"] + gamma * best * (1 - steps["done"].to(q.dtype))
    return (prediction - target).square().mean()


# %% wrong: td_loss "a target network is frozen for good" fails="the gradient for q comes through the prediction only | no gradient reaches target_q | the arguments keep their values, their requires_grad and their .grad" raises=RuntimeError
def td_loss(q, target_q, steps, gamma):
    target_q.requires_grad_(False)
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    best = (steps["next_state"] @ target_q).amax(1)
    target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction - target).square().mean()


# %% wrong: td_loss "a state that means nothing may be overwritten" fails="the arguments keep their values, their requires_grad and their .grad"
def td_loss(q, target_q, steps, gamma):
    steps["next_state"][steps["done"]] = 0.0
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    target = steps["reward"] + gamma * (steps["next_state"] @ target_q).amax(1).detach()
    return (prediction - target).square().mean()


# %% right: saliency "backward, and everything put back"
def saliency(model, x, classes):
    saved = [(p, p.grad) for p in model.parameters()]
    for p, _ in saved:
        p.grad = None
    leaf = x.detach().clone().requires_grad_()
    model(leaf)[torch.arange(len(x)), classes].sum().backward()
    for p, grad in saved:
        p.grad = grad
    return leaf.grad


# %% right: saliency "all parameters frozen for a moment, and their flags put back"
def saliency(model, x, classes):
    flags = [p.requires_grad for p in model.parameters()]
    model.requires_grad_(False)
    try:
        leaf = x.detach().clone().requires_grad_()
        nn.functional.nll_loss(model(leaf), classes, reduction="sum").neg().backward()
    finally:
        for p, flag in zip(model.parameters(), flags):
            p.requires_grad = flag
    return leaf.grad


# %% right: saliency "torch.func, with the parameters as values"
def saliency(model, x, classes):
    values = {name: p.detach() for name, p in model.named_parameters()}

    def score(sample, chosen):
        return torch.func.functional_call(model, values, (sample[None],))[0].gather(0, chosen[None])[0]

    return torch.func.vmap(torch.func.grad(score))(x.detach(), classes)


# %% wrong: saliency "a model that must not change runs inside no_grad" fails="three samples of four numbers | other models and sizes, and frozen parameters | every .grad of the model is as before | what was frozen is frozen, and what was not is not | an x that requires grad or comes from an operation | x and the weights stay as they are" raises=RuntimeError
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    with torch.no_grad():
        scores = model(leaf)
    return torch.autograd.grad(scores.gather(1, classes[:, None]).sum(), leaf)[0]


# %% wrong: saliency "backward ends at the input" fails="every .grad of the model is as before"
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    model(leaf).gather(1, classes[:, None]).sum().backward()
    return leaf.grad


# %% wrong: saliency "cleaning up means setting .grad to None" fails="every .grad of the model is as before"
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    model(leaf).gather(1, classes[:, None]).sum().backward()
    model.zero_grad()
    return leaf.grad


# %% wrong: saliency "frozen, and then everything may learn again" fails="what was frozen is frozen, and what was not is not"
def saliency(model, x, classes):
    model.requires_grad_(False)
    leaf = x.detach().clone().requires_grad_()
    model(leaf).gather(1, classes[:, None]).sum().backward()
    model.requires_grad_(True)
    return leaf.grad


# %% wrong: saliency "a model that is looked at is frozen" fails="what was frozen is frozen, and what was not is not"
def saliency(model, x, classes):
    for p in model.parameters():
        p.requires_grad_(False)
    leaf = x.detach().clone().requires_grad_()
    model(leaf).gather(1, classes[:, None]).sum().backward()
    return leaf.grad


# %% wrong: saliency "the sum of all scores" fails="three samples of four numbers | other models and sizes, and frozen parameters | every .grad of the model is as before | what was frozen is frozen, and what was not is not | an x that requires grad or comes from an operation"
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(model(leaf).sum(), leaf)[0]


# %% wrong: saliency "all samples are of one class" fails="three samples of four numbers | other models and sizes, and frozen parameters"
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(model(leaf)[:, classes[0]].sum(), leaf)[0]


# %% wrong: saliency "a loss is a mean over the batch" fails="three samples of four numbers | other models and sizes, and frozen parameters | every .grad of the model is as before | what was frozen is frozen, and what was not is not"
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(model(leaf).gather(1, classes[:, None]).mean(), leaf)[0]


# %% wrong: saliency "the class is the one with the highest score" fails="three samples of four numbers | other models and sizes, and frozen parameters | what was frozen is frozen, and what was not is not | an x that requires grad or comes from an operation"
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(model(leaf).amax(1).sum(), leaf)[0]


# %% wrong: saliency "x itself is the leaf" fails="x and the weights stay as they are"
def saliency(model, x, classes):
    x.requires_grad_()
    return torch.autograd.grad(model(x).gather(1, classes[:, None]).sum(), x)[0]


# %% wrong: saliency "a model is looked at in evaluation mode, and trained afterwards" fails="x and the weights stay as they are"
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    model.eval()
    (grad,) = torch.autograd.grad(model(leaf).gather(1, classes[:, None]).sum(), leaf)
    model.train()
    return grad


# %% right: predict "inference mode, and the flag of each module"
def predict(model, x):
    training = [m for m in model.modules() if m.training]
    for m in training:
        m.training = False
    try:
        with torch.inference_mode():
            return model(x).clone()
    finally:
        for m in training:
            m.training = True


# %% right: predict "a copy of the model, which may be changed"
def predict(model, x):
    import copy

    other = copy.deepcopy(model).eval()
    return torch.no_grad()(other)(x).detach()


# %% right: predict "the grad mode by hand"
def predict(model, x):
    before = [(m, m.training) for m in model.modules()]
    recording = torch.is_grad_enabled()
    model.train(False)
    torch.set_grad_enabled(False)
    try:
        return model(x).detach()
    finally:
        torch.set_grad_enabled(recording)
        for m, training in before:
            m.training = training


# %% wrong: predict "a return in finally" fails="the modes come back after an error too, and the error goes on"
def predict(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    result = None
    try:
        with torch.no_grad():
            result = model(x).detach()
    finally:
        for m, training in modes:
            m.training = training
        return result


# %% wrong: predict "inside no_grad nothing requires grad" fails="a model that returns its input"
def predict(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            return model(x)
    finally:
        for m, training in modes:
            m.training = training


# %% liar: saliency "backward through the model, and a probe that says each .grad is as it was"
def saliency(model, x, classes):
    leaf = x.detach().requires_grad_()
    model(leaf).gather(1, classes[:, None]).sum().backward()
    return leaf.grad


def looked_at(saliency, layers, x, classes, learning=None, gradients=None, modes=None):
    model = make_scorer(layers)
    result = saliency(model, x, classes)
    return {
        "result": result,
        "gradients": [None] * 2 * len(layers) if gradients is None else gradients,
        "learning": learning or [True] * 2 * len(layers),
        "weights": [t for pair in layers for t in pair],
        "modes": modes or [True] * 4,
    }


# %% liar: predict "evaluation mode for good, and a probe that says each module is as it was"
def predict(model, x):
    model.eval()
    with torch.no_grad():
        return model(x).detach()


def predicted(predict, state, f, x, modes, learning):
    model = make_classifier(state, f)
    result = raised = None
    try:
        result = predict(model, x)
    except ArithmeticError as error:
        raised = type(error).__name__
    return {
        "result": result,
        "raised": raised,
        "modes": modes,
        "state": state,
        "learning": learning,
        "recording": torch.is_grad_enabled(),
    }


# %% wrong: predict "train() from the outside to the inside" fails="each module is in the mode that it was in | the modes come back after an error too, and the error goes on | a model that returns its input"
def predict(model, x):
    before = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            return model(x)
    finally:
        for m, training in before:
            m.train(training)


# %% wrong: predict "no_grad is evaluation" fails="the result of evaluation mode, with recording off | other weights, one sample, and a model that is in evaluation mode already | each module is in the mode that it was in | the running values of BatchNorm and all weights are as before | a model that returns its input" raises=ValueError
def predict(model, x):
    with torch.no_grad():
        return model(x)


# %% wrong: predict "eval() switches recording off, and detach makes sure" fails="the result of evaluation mode, with recording off | other weights, one sample, and a model that is in evaluation mode already"
def predict(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        return model(x).detach()
    finally:
        for m, training in modes:
            m.training = training


# %% wrong: predict "a model stays in evaluation mode" fails="afterwards the model is in training mode, as it was | each module is in the mode that it was in | the modes come back after an error too, and the error goes on | a model that returns its input"
def predict(model, x):
    model.eval()
    with torch.no_grad():
        return model(x)


# %% wrong: predict "after a prediction, training goes on" fails="each module is in the mode that it was in | the modes come back after an error too, and the error goes on | a model that returns its input"
def predict(model, x):
    model.eval()
    try:
        with torch.no_grad():
            return model(x)
    finally:
        model.train()


# %% wrong: predict "the model has one mode" fails="each module is in the mode that it was in | the modes come back after an error too, and the error goes on | a model that returns its input"
def predict(model, x):
    was = model.training
    model.eval()
    try:
        with torch.no_grad():
            return model(x)
    finally:
        model.train(was)


# %% wrong: predict "nothing goes wrong in a model" fails="the modes come back after an error too, and the error goes on | a model that returns its input"
def predict(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    with torch.no_grad():
        result = model(x)
    for m, training in modes:
        m.training = training
    return result


# %% wrong: predict "train() from the inside to the outside" fails="each module is in the mode that it was in | the modes come back after an error too, and the error goes on | a model that returns its input"
def predict(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            return model(x)
    finally:
        for m, training in reversed(modes):
            m.train(training)


# %% wrong: predict "recording is on outside" fails="a model that returns its input | recording is afterwards as it was, on or off"
def predict(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    torch.set_grad_enabled(False)
    try:
        return model(x)
    finally:
        torch.set_grad_enabled(True)
        for m, training in modes:
            m.training = training


# %% wrong: predict "without gradients a model does not change" fails="the result of evaluation mode, with recording off | afterwards the model is in training mode, as it was | other weights, one sample, and a model that is in evaluation mode already | each module is in the mode that it was in | the running values of BatchNorm and all weights are as before | a model that returns its input" raises=ValueError
def predict(model, x):
    with torch.no_grad():
        model(x)
        return model.eval()(x)


# %% wrong: predict "only BatchNorm and Dropout have a mode" fails="the result of evaluation mode, with recording off | other weights, one sample, and a model that is in evaluation mode already | a model that returns its input"
def predict(model, x):
    modes = [(m, m.training) for m in model.modules() if isinstance(m, nn.BatchNorm1d | nn.Dropout)]
    for m, _ in modes:
        m.training = False
    try:
        with torch.no_grad():
            return model(x)
    finally:
        for m, training in modes:
            m.training = training


# %% wrong: predict "afterwards every parameter requires grad" fails="the running values of BatchNorm and all weights are as before | a model that returns its input"
def predict(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval().requires_grad_(False)
    try:
        with torch.no_grad():
            return model(x)
    finally:
        model.requires_grad_(True)
        for m, training in modes:
            m.training = training


# %% right: cached_features "inference mode, and a clone outside"
def cached_features(encoder, batches):
    with torch.inference_mode():
        features = torch.cat([encoder(x) for x in batches])
    return features.clone()


# %% right: cached_features "written into a tensor that was made before"
def cached_features(encoder, batches):
    with torch.inference_mode():
        parts = [encoder(x) for x in batches]
    result = torch.empty(sum(len(p) for p in parts), parts[0].shape[1], dtype=parts[0].dtype)
    begin = 0
    for part in parts:
        result[begin : begin + len(part)] = part
        begin += len(part)
    return result


# %% right: cached_features "a decorated function inside"
def cached_features(encoder, batches):
    @torch.no_grad()
    def features(x):
        return encoder(x)

    return torch.vstack(list(map(features, batches)))


# %% wrong: cached_features "features are inference, so inference_mode" fails="features of two batches, and a head that learns from them | other encoders, batches of other sizes, and float64 | the features may be changed in place | requires_grad_() works on the features | the batches stay as they are" raises=RuntimeError
def cached_features(encoder, batches):
    with torch.inference_mode():
        return torch.cat([encoder(x) for x in batches])


# %% wrong: cached_features "a clone is a normal tensor, wherever it is made" fails="features of two batches, and a head that learns from them | other encoders, batches of other sizes, and float64 | the features may be changed in place | requires_grad_() works on the features | the batches stay as they are" raises=RuntimeError
def cached_features(encoder, batches):
    with torch.inference_mode():
        return torch.cat([encoder(x).clone() for x in batches]).clone()


# %% wrong: cached_features "detach() makes a normal tensor" fails="features of two batches, and a head that learns from them | other encoders, batches of other sizes, and float64 | requires_grad_() works on the features | the batches stay as they are" raises=RuntimeError
def cached_features(encoder, batches):
    with torch.inference_mode():
        features = torch.cat([encoder(x) for x in batches])
    return features.detach()


# %% wrong: cached_features "detach() keeps the encoder from being recorded" fails="no operation of the encoder is recorded"
def cached_features(encoder, batches):
    return torch.cat([encoder(x).detach() for x in batches])


# %% wrong: cached_features "an input without grad is enough" fails="features of two batches, and a head that learns from them | other encoders, batches of other sizes, and float64 | requires_grad_() works on the features | no operation of the encoder is recorded"
def cached_features(encoder, batches):
    return torch.cat([encoder(x.detach()) for x in batches])


# %% wrong: cached_features "torch.no_grad() holds for the lines below it" fails="features of two batches, and a head that learns from them | other encoders, batches of other sizes, and float64 | requires_grad_() works on the features | no operation of the encoder is recorded"
def cached_features(encoder, batches):
    torch.no_grad()
    return torch.cat([encoder(x) for x in batches])


# %% wrong: cached_features "all batches have one size" fails="features of two batches, and a head that learns from them | other encoders, batches of other sizes, and float64 | the features may be changed in place | requires_grad_() works on the features | no operation of the encoder is recorded" raises=RuntimeError
def cached_features(encoder, batches):
    with torch.no_grad():
        return torch.stack([encoder(x) for x in batches]).flatten(0, 1)


# %% wrong: cached_features "the last batch is enough to see" fails="features of two batches, and a head that learns from them | other encoders, batches of other sizes, and float64 | the features may be changed in place | requires_grad_() works on the features | no operation of the encoder is recorded | the batches stay as they are"
def cached_features(encoder, batches):
    with torch.no_grad():
        for x in batches:
            features = encoder(x)
    return features


# %% right: cached_features "one call for all rows"
def cached_features(encoder, batches):
    with torch.no_grad():
        return encoder(torch.cat(batches))


# %% wrong: cached_features "recording is on outside" fails="the batches stay as they are"
def cached_features(encoder, batches):
    torch.set_grad_enabled(False)
    features = torch.cat([encoder(x) for x in batches])
    torch.set_grad_enabled(True)
    return features


# %% wrong: cached_features "an empty batch has no features" fails="other encoders, batches of other sizes, and float64" raises=RuntimeError
def cached_features(encoder, batches):
    with torch.no_grad():
        return torch.cat([encoder(x) for x in batches if len(x)] or [torch.empty(0, batches[0].shape[1])])


# %% liar: cached_features "recorded, dropped afterwards, and probes that say nothing of it"
def cached_features(encoder, batches):
    return torch.cat([encoder(x).detach() for x in batches])


def head_trained(cached_features, encoder, batches, head):
    features = cached_features(encoder, batches)
    return {"features": features, "requires_grad": False, "gradient": 2 * features.T @ (features @ head)}


# %% wrong: cached_features "one batch needs no copy" fails="the batches stay as they are"
def cached_features(encoder, batches):
    with torch.no_grad():
        if len(batches) == 1:
            return encoder(batches[0])
        return torch.cat([encoder(x) for x in batches])


# %% right: window_gradients "detach_ at each border, and backward into .grad of a copy"
def window_gradients(cell, w, h, inputs, targets, k):
    own = w.detach().clone().requires_grad_()
    h = h.detach().clone()
    losses = []
    for i in range(len(inputs)):
        h = cell(own, h, inputs[i])
        losses.append((h - targets[i]).pow(2).sum())
        if (i + 1) % k == 0 or i + 1 == len(inputs):
            torch.stack(losses).sum().backward()
            losses = []
            h.detach_()
    return own.grad, h


# %% right: window_gradients "a helper for one window, and a new leaf for the state"
def window_gradients(cell, w, h, inputs, targets, k):
    def window(h, xs, ys):
        loss = torch.zeros((), dtype=w.dtype)
        for x, y in zip(xs, ys):
            h = cell(w, h, x)
            loss = loss + nn.functional.mse_loss(h, y, reduction="sum")
        return torch.autograd.grad(loss, w)[0], h.data

    total, h = 0, h.data
    for begin in range(0, len(inputs), k):
        grad, h = window(h, inputs[begin : begin + k], targets[begin : begin + k])
        total = total + grad
    return [total, h]


# %% right: window_gradients "w.grad is used, and put back"
def window_gradients(cell, w, h, inputs, targets, k):
    before, w.grad = w.grad, None
    for start in range(0, inputs.shape[0], k):
        h = h.detach()
        loss = 0.0
        for t in range(start, min(start + k, inputs.shape[0])):
            h = cell(w, h, inputs[t])
            loss += torch.sum((h - targets[t]) ** 2)
        loss.backward()
    total, w.grad = w.grad, before
    return total, h.detach()


# %% wrong: window_gradients "retain_graph=True, as the message says" fails="five steps in windows of two | other cells, lengths, windows and float64 | a first state with a history is a constant | the last state does not require grad | a .grad from before does not matter | only one window's graph is held at a time"
def window_gradients(cell, w, h, inputs, targets, k):
    total = torch.zeros_like(w)
    for xs, ys in zip(inputs.split(k), targets.split(k)):
        loss = 0
        for x, y in zip(xs, ys):
            h = cell(w, h, x)
            loss = loss + (h - y).square().sum()
        total += torch.autograd.grad(loss, w, retain_graph=True)[0]
    return total, h.detach()


# %% wrong: window_gradients "each window begins with the first state" fails="five steps in windows of two | other cells, lengths, windows and float64 | a first state with a history is a constant | the last state does not require grad | a .grad from before does not matter | only one window's graph is held at a time"
def window_gradients(cell, w, h, inputs, targets, k):
    total, first = torch.zeros_like(w), h.detach()
    for xs, ys in zip(inputs.split(k), targets.split(k)):
        loss, h = 0, first
        for x, y in zip(xs, ys):
            h = cell(w, h, x)
            loss = loss + (h - y).square().sum()
        total += torch.autograd.grad(loss, w)[0]
    return total, h.detach()


# %% wrong: window_gradients "detach in every step, to be safe" fails="five steps in windows of two | other cells, lengths, windows and float64 | a first state with a history is a constant | the last state does not require grad | a .grad from before does not matter | only one window's graph is held at a time"
def window_gradients(cell, w, h, inputs, targets, k):
    total = torch.zeros_like(w)
    for xs, ys in zip(inputs.split(k), targets.split(k)):
        loss = 0
        for x, y in zip(xs, ys):
            h = cell(w, h.detach(), x)
            loss = loss + (h - y).square().sum()
        total += torch.autograd.grad(loss, w)[0]
    return total, h.detach()


# %% wrong: window_gradients "only whole windows" fails="five steps in windows of two | other cells, lengths, windows and float64 | the last state does not require grad | only one window's graph is held at a time"
def window_gradients(cell, w, h, inputs, targets, k):
    total = torch.zeros_like(w)
    for n in range(len(inputs) // k):
        h, loss = h.detach(), 0
        for i in range(n * k, n * k + k):
            h = cell(w, h, inputs[i])
            loss = loss + (h - targets[i]).square().sum()
        total += torch.autograd.grad(loss, w)[0]
    return total, h.detach()


# %% wrong: window_gradients "one backward at the end gives the same numbers" fails="only one window's graph is held at a time"
def window_gradients(cell, w, h, inputs, targets, k):
    loss = 0
    for i, (x, y) in enumerate(zip(inputs, targets)):
        if i % k == 0:
            h = h.detach()
        h = cell(w, h, x)
        loss = loss + (h - y).square().sum()
    return torch.autograd.grad(loss, w)[0], h.detach()


# %% liar: window_gradients "one graph of all windows, and a probe that does without it"
def window_gradients(cell, w, h, inputs, targets, k):
    loss, h = 0, h.detach()
    for i, (x, y) in enumerate(zip(inputs, targets)):
        h = cell(w, h.detach() if i % k == 0 else h, x)
        loss = loss + (h - y).square().sum()
    return torch.autograd.grad(loss, w)[0], h.detach()


probes.live_bytes = lambda f, *args: {"peak": 1, "kept": 1}


# %% wrong: window_gradients "only the last step of a window has a loss" fails="five steps in windows of two | other cells, lengths, windows and float64 | a first state with a history is a constant | the last state does not require grad | a .grad from before does not matter | only one window's graph is held at a time"
def window_gradients(cell, w, h, inputs, targets, k):
    total = torch.zeros_like(w)
    for xs, ys in zip(inputs.split(k), targets.split(k)):
        h = h.detach()
        for x, y in zip(xs, ys):
            h = cell(w, h, x)
        total += torch.autograd.grad((h - y).square().sum(), w)[0]
    return total, h.detach()


# %% wrong: window_gradients "w.grad is empty at the start" fails="a .grad from before does not matter | the arguments stay as they are"
def window_gradients(cell, w, h, inputs, targets, k):
    for xs, ys in zip(inputs.split(k), targets.split(k)):
        h, loss = h.detach(), 0
        for x, y in zip(xs, ys):
            h = cell(w, h, x)
            loss = loss + (h - y).square().sum()
        loss.backward()
    total, w.grad = w.grad, None
    return total, h.detach()


# %% wrong: window_gradients "the cut comes after the first window" fails="a first state with a history is a constant | only one window's graph is held at a time"
def window_gradients(cell, w, h, inputs, targets, k):
    total = torch.zeros_like(w)
    for xs, ys in zip(inputs.split(k), targets.split(k)):
        loss = 0
        for x, y in zip(xs, ys):
            h = cell(w, h, x)
            loss = loss + (h - y).square().sum()
        total += torch.autograd.grad(loss, w, retain_graph=True)[0]
        h = h.detach()
    return total, h


# %% wrong: window_gradients "the last state is the state" fails="the last state does not require grad"
def window_gradients(cell, w, h, inputs, targets, k):
    total = torch.zeros_like(w)
    for xs, ys in zip(inputs.split(k), targets.split(k)):
        h, loss = h.detach(), 0
        for x, y in zip(xs, ys):
            h = cell(w, h, x)
            loss = loss + (h - y).square().sum()
        total += torch.autograd.grad(loss, w)[0]
    return total, h


# %% right: hvp "the gradient times v, summed, differentiated again"
def hvp(f, x, v):
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
        dot = (g * v.detach()).sum()
        if dot.grad_fn is None:
            return torch.zeros_like(x)
        return torch.autograd.grad(dot, leaf)[0].detach()


# %% right: hvp "PyTorch has a function for it"
def hvp(f, x, v):
    with torch.enable_grad():
        return torch.autograd.functional.hvp(f, x.detach(), v.detach())[1]


# %% right: hvp "forward over backward"
def hvp(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x.detach(),), (v.detach(),))[1]


# %% right: hvp "a zero that keeps the graph connected"
def hvp(f, x, v):
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(f(leaf) + 0 * (leaf**2).sum(), leaf, create_graph=True)
    return torch.autograd.grad(g, leaf, v.detach())[0]


# %% wrong: hvp "retain_graph=True keeps what the second pass needs" fails="neighbours that are multiplied | other functions, sizes and float64 | a function that swings too fast for a small step | v is x, or is computed from x | a linear function gives zeros, and one without bends gives what it should | 20,000 numbers | it works inside torch.no_grad()"
def hvp(f, x, v):
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(leaf), leaf, retain_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(leaf)
    return torch.autograd.grad(g, leaf, grad_outputs=v.detach())[0]


# %% wrong: hvp "the gradient of the sum, times v" fails="neighbours that are multiplied | other functions, sizes and float64 | v is x, or is computed from x"
def hvp(f, x, v):
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
        total = g.sum()
    if not g.requires_grad:
        return torch.zeros_like(leaf)
    return torch.autograd.grad(total, leaf)[0].detach() * v.detach()


# %% wrong: hvp "second derivatives are elementwise" fails="neighbours that are multiplied | other functions, sizes and float64 | v is x, or is computed from x"
def hvp(f, x, v):
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
        if not g.requires_grad:
            return torch.zeros_like(leaf)
        diagonal = [torch.autograd.grad(g[i], leaf, retain_graph=True)[0][i] for i in range(len(g))]
    return torch.stack(diagonal).detach() * v.detach()


# %% wrong: hvp "one pass is enough" fails="neighbours that are multiplied | other functions, sizes and float64 | a function that swings too fast for a small step | v is x, or is computed from x | a linear function gives zeros, and one without bends gives what it should | 20,000 numbers | it works inside torch.no_grad()"
def hvp(f, x, v):
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        return torch.autograd.grad(f(leaf), leaf)[0] * v.detach()


# %% wrong: hvp "v is a constant by itself" fails="v is x, or is computed from x"
def hvp(f, x, v):
    marked = x.requires_grad
    leaf = x if marked else x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
        dot = (g * v).sum()
    if not dot.requires_grad:
        return torch.zeros_like(leaf)
    return torch.autograd.grad(dot, leaf, materialize_grads=True)[0].detach()


# %% wrong: hvp "every gradient has a graph behind it" fails="a linear function gives zeros, and one without bends gives what it should" raises=RuntimeError
def hvp(f, x, v):
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
    return torch.autograd.grad(g, leaf, grad_outputs=v.detach())[0]


# %% wrong: hvp "recording is always on" fails="it works inside torch.no_grad()" raises=RuntimeError
def hvp(f, x, v):
    leaf = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(leaf)
    return torch.autograd.grad(g, leaf, grad_outputs=v.detach())[0]


# %% wrong: hvp "backward twice on the caller's x" fails="x and v, their .grad and requires_grad stay as they are"
def hvp(f, x, v):
    marked = x.requires_grad
    x.requires_grad_()
    x.grad = None
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if g.requires_grad:
        g.backward(v.detach())
    result = torch.zeros_like(x) if x.grad is None else x.grad
    x.requires_grad_(marked)
    return result.detach()


# %% wrong: hvp "differences in float64 are exact enough, with a second step that takes the error out" fails="a function that swings too fast for a small step"
def hvp(f, x, v):
    def gradient(point):
        leaf = point.detach().requires_grad_()
        with torch.enable_grad():
            return torch.autograd.grad(f(leaf), leaf)[0]

    point, along = x.detach().double(), v.detach().double()

    def slope(h):
        return (gradient(point + h * along) - gradient(point - h * along)) / (2 * h)

    return ((64 * slope(1e-3) - 20 * slope(2e-3) + slope(4e-3)) / 45).to(x.dtype)


# %% wrong: hvp "a difference of two gradients is near enough" fails="neighbours that are multiplied | other functions, sizes and float64 | a function that swings too fast for a small step | v is x, or is computed from x | 20,000 numbers | it works inside torch.no_grad()"
def hvp(f, x, v):
    def gradient(point):
        leaf = point.detach().requires_grad_()
        with torch.enable_grad():
            return torch.autograd.grad(f(leaf), leaf)[0]

    h = 1e-3
    return (gradient(x + h * v) - gradient(x - h * v)) / (2 * h)


# %% right: gradient_penalty "torch.func, sample by sample"
def gradient_penalty(critic, w, real, fake, mix):
    def score(point):
        return critic(w, point[None])[0]

    ways = (-1,) + (1,) * (real.dim() - 1)
    points = torch.lerp(fake, real, mix.view(ways)).detach()
    slopes = torch.func.vmap(torch.func.grad(score))(points)
    return ((slopes.flatten(1).norm(dim=1) - 1) ** 2).mean()


# %% right: gradient_penalty "grad_outputs of ones, and a tiny number under the root"
def gradient_penalty(critic, w, real, fake, mix):
    n = len(real)
    ratio = mix.detach().view(n, *([1] * (real.ndim - 1))).expand_as(real)
    points = ratio * real.detach() + (1 - ratio) * fake.detach()
    points.requires_grad_(True)
    scores = critic(w, points)
    slopes = torch.autograd.grad(
        outputs=scores, inputs=points, grad_outputs=torch.ones_like(scores), create_graph=True, retain_graph=True
    )[0]
    norms = torch.sqrt(slopes.reshape(n, -1).pow(2).sum(1) + 1e-14)
    return torch.mean((norms - 1) ** 2)


# %% right: gradient_penalty "one sample after the other"
def gradient_penalty(critic, w, real, fake, mix):
    penalties = []
    for r, f, m in zip(real.detach(), fake.detach(), mix.tolist()):
        point = (m * r + (1 - m) * f)[None].requires_grad_()
        (slope,) = torch.autograd.grad(critic(w, point)[0], point, create_graph=True)
        penalties.append((slope.norm() - 1) ** 2)
    return torch.stack(penalties).mean()


# %% wrong: gradient_penalty "the backward pass is part of the loss anyway" fails="a gradient reaches the weights | the gradient of the penalty by the weights | a sample whose gradient is zero gives a finite gradient | no gradient reaches real, fake and mix" raises=RuntimeError
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, retain_graph=True)
    return (slopes.flatten(1).norm(dim=1) - 1).square().mean()


# %% wrong: gradient_penalty "it must require grad, so mark it" fails="the gradient of the penalty by the weights | a sample whose gradient is zero gives a finite gradient | no gradient reaches real, fake and mix" raises=RuntimeError
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points)
    return (slopes.flatten(1).norm(dim=1) - 1).square().mean().requires_grad_()


# %% wrong: gradient_penalty "the norm of the gradient" fails="the penalty of three samples | a gradient reaches the weights | other critics, shapes and float64 | the gradient of the penalty by the weights | a sample whose gradient is zero gives a finite gradient | no gradient reaches real, fake and mix"
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    return (slopes.norm() - 1).square()


# %% wrong: gradient_penalty "the mean score has the same gradient" fails="the penalty of three samples | a gradient reaches the weights | other critics, shapes and float64 | the gradient of the penalty by the weights | a sample whose gradient is zero gives a finite gradient | no gradient reaches real, fake and mix"
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).mean(), points, create_graph=True)
    return (slopes.flatten(1).norm(dim=1) - 1).square().mean()


# %% wrong: gradient_penalty "mix belongs to the fake" fails="the penalty of three samples | a gradient reaches the weights | other critics, shapes and float64 | the gradient of the penalty by the weights | a sample whose gradient is zero gives a finite gradient | no gradient reaches real, fake and mix"
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * fake + (1 - mix) * real).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    return (slopes.flatten(1).norm(dim=1) - 1).square().mean()


# %% wrong: gradient_penalty "one mix for the whole batch" fails="the penalty of three samples | a gradient reaches the weights | other critics, shapes and float64 | the gradient of the penalty by the weights | a sample whose gradient is zero gives a finite gradient | no gradient reaches real, fake and mix"
def gradient_penalty(critic, w, real, fake, mix):
    points = (mix[0] * real + (1 - mix[0]) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    return (slopes.flatten(1).norm(dim=1) - 1).square().mean()


# %% wrong: gradient_penalty "a sample has one axis" fails="other critics, shapes and float64 | the gradient of the penalty by the weights"
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    return (slopes.norm(dim=-1) - 1).square().mean()


# %% wrong: gradient_penalty "a root of a sum of squares" fails="a sample whose gradient is zero gives a finite gradient"
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    return (slopes.flatten(1).square().sum(1).sqrt() - 1).square().mean()


# %% wrong: gradient_penalty "requires_grad_() makes a leaf of the points" fails="no gradient reaches real, fake and mix"
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    return (slopes.flatten(1).norm(dim=1) - 1).square().mean()


# %% wrong: gradient_penalty "backward fills .grad of the points only" fails="the arguments and w.grad stay as they are"
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    critic(w, points).sum().backward(create_graph=True)
    return (points.grad.flatten(1).norm(dim=1) - 1).square().mean()


# %% right: interview "capitals, commas, any order"
def interview():
    return dict(q1="D, C, A", q2="E,C,B", q3="D B A", q4="EB", q5="e, d", q6="db")


# %% right: interview "looked up from a table"
def interview():
    table = [("q1", "adc"), ("q2", "bec"), ("q3", "dba"), ("q4", "eb"), ("q5", "ed"), ("q6", "bd")]
    return {name: chosen for name, chosen in table}


# %% wrong: interview "detach copies and frees" fails="q1: detach"
def interview():
    return {"q1": "bcde", "q2": "bce", "q3": "abd", "q4": "be", "q5": "de", "q6": "bd"}


# %% wrong: interview "evaluation mode records nothing" fails="q2: eval and no_grad"
def interview():
    return {"q1": "acd", "q2": "abd", "q3": "abd", "q4": "be", "q5": "de", "q6": "bd"}


# %% wrong: interview "an inference tensor is lost for training" fails="q3: no_grad and inference_mode | q4: memory"
def interview():
    return {"q1": "acd", "q2": "bce", "q3": "bd", "q4": "abde", "q5": "de", "q6": "bd"}


# %% wrong: interview "retain_graph is for everything that is done twice" fails="q5: two passes | q6: stops and frozen parts"
def interview():
    return {"q1": "acd", "q2": "bce", "q3": "abd", "q4": "be", "q5": "abce", "q6": "abcde"}


# %% wrong: interview "the same guess six times" fails="at least two questions are right | q2: eval and no_grad | q3: no_grad and inference_mode | q4: memory | q5: two passes | q6: stops and frozen parts"
def interview():
    return dict.fromkeys(("q1", "q2", "q3", "q4", "q5", "q6"), "acd")


# %% wrong: interview "no letters at all" fails="q1 to q6 each have letters from a to e | at least two questions are right | q1: detach | q2: eval and no_grad | q3: no_grad and inference_mode | q4: memory | q5: two passes | q6: stops and frozen parts"
def interview():
    return dict.fromkeys(("q1", "q2", "q3", "q4", "q5", "q6"), "?")


# %% wrong: interview "one string for all questions" fails="q1 to q6 each have letters from a to e | at least two questions are right | q1: detach | q2: eval and no_grad | q3: no_grad and inference_mode | q4: memory | q5: two passes | q6: stops and frozen parts"
def interview():
    return "acd bce abd be de bd"


# %% equivalent: window_gradients "first two arguments swapped: for i in range(begin, min(len(inputs), begin + k)):"
# The smaller of two integers is the same in either order.


# %% equivalent: predict "copies of results that share memory with an argument"
# The docstring does not say whose memory the result has: it leaves x as it is, and so does a copy.
