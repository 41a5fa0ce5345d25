// Forward, backward and steps of gradient descent in the browser.
const parameters = {...picture.data.parameters}, inputs = [...picture.data.inputs], losses = [], COLOR = picture.data.colors;
let target = picture.data.target, rate = picture.data.rate, selected = 'w11', timer = 0;
const formatNumber = x => (Object.is(Math.round(x * 100), -0) ? 0 : x).toFixed(2);
const formatLoss = x => x >= 1e-3 ? x.toFixed(4) : x.toExponential(1).replace(/e([+-])(\d)$/, 'e$10$2');
const SIGNS = {[COLOR.grow]: ' ↑', [COLOR.shrink]: ' ↓', [COLOR.flat]: ''};
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
    label.textContent = `${name} ${formatNumber(parameters[name])}${SIGNS[color(name)]}`;
    label.setAttribute('fill', color(name));
    label.setAttribute('font-weight', name === selected ? '700' : '400');
    edge?.setAttribute('stroke', color(name));
    edge?.setAttribute('stroke-width', 0.6 + 2 * Math.min(Math.abs(parameters[name]), 3));
  }
  for (const name in values) {
    svg.querySelector(`[data-node=${name}]`).textContent = formatNumber(values[name]);
    svg.querySelector(`[data-grad=${name}]`).textContent = `(${formatNumber(grad[name])})`;
  }
  const words = `target ${formatNumber(target)}, loss ${formatLoss(loss)}`;
  svg.querySelector('[data-loss]').textContent = words + (losses.length ? `, after ${losses.length} step${losses.length === 1 ? '' : 's'}` : '');
  const logs = [...losses, loss].slice(-100).map(one => Math.log10(Math.max(one, 1e-8)));
  const {x, y, width, height} = picture.data.plot;
  svg.querySelector('[data-losses]').setAttribute('points', logs.map((one, i) => `${x + width * i / 99},${y + height * (1 - (one + 8) / 10)}`).join(' '));
  if (!timer) say(`${words}; derivative for ${selected} ${formatNumber(grad[selected])}`);
};
const descend = () => {
  const {loss, grad} = pass();
  losses.push(loss);
  for (const name in parameters) parameters[name] -= rate * grad[name];
  showValue();
  render();
  return loss;
};
// A slider next to its number.
const labelled = (words, control) => make('label', {}, words, control);
const addSlider = (words, min, max, step, start, format, action) => {
  const number = make('span', {class: 'number', 'aria-hidden': true}), control = slider(words, min, max, step, start, x => { put(x); action(x); render(); });
  const put = x => { control.value = x; number.textContent = format(x); control.setAttribute('aria-valuetext', format(x)); };
  put(start);
  bar.append(labelled(words, make('span', {class: 'set'}, control, number)));
  return put;
};
inputs.forEach((start, i) => addSlider(`x${i + 1}`, -6, 6, 0.05, start, formatNumber, x => { inputs[i] = x; }));
addSlider('target', -6, 6, 0.05, target, formatNumber, x => { target = x; });
const select = make('select', {}, ...Object.keys(parameters).map(name => make('option', {value: name}, name)));
select.value = selected;
select.onchange = () => { selected = select.value; showValue(); render(); };
bar.append(labelled('parameter', select));
const putValue = addSlider('value', -6, 6, 0.05, parameters[selected], formatNumber, x => { parameters[selected] = x; });
const showValue = () => putValue(parameters[selected]);
addSlider('learning rate', -3, 0.5, 0.1, Math.log10(rate), x => String(+(10 ** x).toPrecision(2)), x => { rate = +(10 ** x).toPrecision(2); });
const stop = () => {
  clearInterval(timer);
  timer = 0;
  play.textContent = 'play';
  render();
};
const play = button('play', () => {
  if (timer) return stop();
  let left = 200;
  timer = setInterval(() => {
    const before = root.isConnected ? descend() : NaN;
    if (!(before > picture.data.enough && before < 1e6) || (left -= 1) === 0) stop();
  }, 150);
  play.textContent = 'pause';
});
play.removeAttribute('aria-label');
const restart = button('start again', () => {
  Object.assign(parameters, picture.data.parameters);
  losses.length = 0;
  showValue();
  stop();
});
bar.append(button('step', () => { descend(); }), ...calm.matches ? [] : [play], restart);
