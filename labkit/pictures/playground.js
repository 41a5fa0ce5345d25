// Forward, backward and steps of gradient descent in the browser.
const parameters = {...picture.data.parameters}, inputs = [...picture.data.inputs], losses = [], COLOR = picture.data.colors;
let target = picture.data.target, rate = picture.data.rate, selected = 'w11', timer = 0;
const formatNumber = x => (Object.is(Math.round(x * 100), -0) ? 0 : x).toFixed(2);
const pass = () => {
  const hidden = [1, 2, 3].map(j => Math.tanh(parameters[`w1${j}`] * inputs[0] + parameters[`w2${j}`] * inputs[1] + parameters[`b${j}`]));
  const result = hidden.reduce((sum, h, j) => sum + parameters[`v${j + 1}`] * h, parameters.c), loss = (result - target) ** 2 / 2;
  const grad = {c: result - target, result: result - target, x1: 0, x2: 0};
  hidden.forEach((h, i) => {
    const j = i + 1, back = grad.result * parameters[`v${j}`], inside = back * (1 - h * h);
    Object.assign(grad, {[`h${j}`]: back, [`v${j}`]: grad.result * h, [`b${j}`]: inside, [`w1${j}`]: inside * inputs[0], [`w2${j}`]: inside * inputs[1]});
    grad.x1 += inside * parameters[`w1${j}`];
    grad.x2 += inside * parameters[`w2${j}`];
  });
  return {values: {x1: inputs[0], x2: inputs[1], h1: hidden[0], h2: hidden[1], h3: hidden[2], result}, loss, grad};
};
const render = () => {
  const {values, loss, grad} = pass();
  const color = name => Math.abs(grad[name]) < 5e-4 ? COLOR.flat : grad[name] > 0 ? COLOR.shrink : COLOR.grow;
  for (const name in parameters) {
    const label = svg.querySelector(`[data-label=${name}]`), edge = svg.querySelector(`[data-edge=${name}]`);
    label.textContent = `${name} ${formatNumber(parameters[name])}`;
    label.setAttribute('fill', color(name));
    label.setAttribute('text-decoration', name === selected ? 'underline' : 'none');
    edge?.setAttribute('stroke', color(name));
    edge?.setAttribute('stroke-width', 0.6 + 2 * Math.min(Math.abs(parameters[name]), 3));
  }
  for (const name in values) {
    svg.querySelector(`[data-node=${name}]`).textContent = formatNumber(values[name]);
    svg.querySelector(`[data-grad=${name}]`).textContent = `(${formatNumber(grad[name])})`;
  }
  const words = `target ${formatNumber(target)}, loss ${loss.toFixed(4)}`;
  svg.querySelector('[data-loss]').textContent = words + (losses.length ? `, after ${losses.length} steps` : '');
  const logs = [...losses, loss].slice(-100).map(one => Math.log10(Math.max(one, 1e-8)));
  const {x, y, width, height} = picture.data.plot;
  svg.querySelector('[data-losses]').setAttribute('points', logs.map((one, i) => `${x + width * i / 99},${y + height * (1 - (one + 8) / 10)}`).join(' '));
  if (!timer) say(`${words}; derivative for ${selected} ${formatNumber(grad[selected])}`);
};
const descend = () => {
  const {loss, grad} = pass();
  losses.push(loss);
  for (const name in parameters) parameters[name] -= rate * grad[name];
  valueSlider.value = parameters[selected];
  render();
};
const labelled = (words, control) => make('label', {style: 'display:inline-flex;gap:.3em;align-items:center'}, words, control);
const addSlider = (words, start, action) => labelled(words, slider(words, -6, 6, 0.05, start, x => { action(x); render(); }));
const select = make('select', {'aria-label': 'parameter', style: 'font:inherit'}, ...Object.keys(parameters).map(name => make('option', {value: name}, name)));
const valueSlider = slider('value', -6, 6, 0.05, parameters[selected], x => { parameters[selected] = x; render(); });
select.value = selected;
select.onchange = () => { selected = select.value; valueSlider.value = parameters[selected]; render(); };
const stop = () => { clearInterval(timer); timer = 0; play.textContent = 'play'; render(); };
const play = button('play', () => {
  if (timer) return stop();
  timer = setInterval(() => root.isConnected && losses.length < 1000 ? descend() : stop(), 150);
  play.textContent = 'pause';
});
play.removeAttribute('aria-label');
const shownRate = make('span', {}, String(rate));
const rates = slider('learning rate', -3, 0.5, 0.1, Math.log10(rate), x => { rate = +(10 ** x).toPrecision(2); shownRate.textContent = rate; });
const restart = button('start again', () => {
  Object.assign(parameters, picture.data.parameters);
  losses.length = 0;
  valueSlider.value = parameters[selected];
  stop();
});
const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)').matches;
bar.append(
  addSlider('x1', inputs[0], x => { inputs[0] = x; }), addSlider('x2', inputs[1], x => { inputs[1] = x; }), addSlider('target', target, x => { target = x; }),
  labelled('parameter', select), labelled('value', valueSlider), labelled('learning rate', rates), shownRate,
  button('step', descend), ...reducedMotion ? [] : [play], restart,
);
root.prepend(bar);
