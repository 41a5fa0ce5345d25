// Forward, backward and steps of gradient descent in the browser.
const now = {...told.data.parameters}, given = [...told.data.inputs], losses = [], COLOUR = told.data.colours;
let aim = told.data.target, rate = told.data.rate, chosen = 'w11', timer = 0;
const two = x => (Object.is(Math.round(x * 100), -0) ? 0 : x).toFixed(2);
const pass = () => {
  const hidden = [1, 2, 3].map(j => Math.tanh(now[`w1${j}`] * given[0] + now[`w2${j}`] * given[1] + now[`b${j}`]));
  const result = hidden.reduce((sum, h, j) => sum + now[`v${j + 1}`] * h, now.c), loss = (result - aim) ** 2 / 2;
  const grad = {c: result - aim, result: result - aim, x1: 0, x2: 0};
  hidden.forEach((h, i) => {
    const j = i + 1, back = grad.result * now[`v${j}`], inside = back * (1 - h * h);
    Object.assign(grad, {[`h${j}`]: back, [`v${j}`]: grad.result * h, [`b${j}`]: inside, [`w1${j}`]: inside * given[0], [`w2${j}`]: inside * given[1]});
    grad.x1 += inside * now[`w1${j}`];
    grad.x2 += inside * now[`w2${j}`];
  });
  return {values: {x1: given[0], x2: given[1], h1: hidden[0], h2: hidden[1], h3: hidden[2], result}, loss, grad};
};
const render = () => {
  const {values, loss, grad} = pass();
  const colour = name => Math.abs(grad[name]) < 5e-4 ? COLOUR.flat : grad[name] > 0 ? COLOUR.shrink : COLOUR.grow;
  for (const name in now) {
    const label = svg.querySelector(`[data-label=${name}]`), edge = svg.querySelector(`[data-edge=${name}]`);
    label.textContent = `${name} ${two(now[name])}`;
    label.setAttribute('fill', colour(name));
    label.setAttribute('text-decoration', name === chosen ? 'underline' : 'none');
    edge?.setAttribute('stroke', colour(name));
    edge?.setAttribute('stroke-width', 0.6 + 2 * Math.min(Math.abs(now[name]), 3));
  }
  for (const name in values) {
    svg.querySelector(`[data-node=${name}]`).textContent = two(values[name]);
    svg.querySelector(`[data-grad=${name}]`).textContent = `(${two(grad[name])})`;
  }
  const words = `target ${two(aim)}, loss ${loss.toFixed(4)}`;
  svg.querySelector('[data-loss]').textContent = words + (losses.length ? `, after ${losses.length} steps` : '');
  const logs = [...losses, loss].slice(-100).map(one => Math.log10(Math.max(one, 1e-8)));
  const {x, y, width, height} = told.data.plot;
  svg.querySelector('[data-losses]').setAttribute('points', logs.map((one, i) => `${x + width * i / 99},${y + height * (1 - (one + 8) / 10)}`).join(' '));
  if (!timer) say(`${words}; derivative for ${chosen} ${two(grad[chosen])}`);
};
const descend = () => {
  const {loss, grad} = pass();
  losses.push(loss);
  for (const name in now) now[name] -= rate * grad[name];
  moved.value = now[chosen];
  render();
};
const labelled = (words, it) => make('label', {style: 'display:inline-flex;gap:.3em;align-items:center'}, words, it);
const wide = (words, start, act) => labelled(words, slider(words, -6, 6, 0.05, start, x => { act(x); render(); }));
const picked = make('select', {'aria-label': 'parameter', style: 'font:inherit'}, ...Object.keys(now).map(name => make('option', {value: name}, name)));
const moved = slider('value', -6, 6, 0.05, now[chosen], x => { now[chosen] = x; render(); });
picked.value = chosen;
picked.onchange = () => { chosen = picked.value; moved.value = now[chosen]; render(); };
const stop = () => { clearInterval(timer); timer = 0; play.textContent = 'play'; render(); };
const play = button('play', () => {
  if (timer) return stop();
  timer = setInterval(() => root.isConnected && losses.length < 1000 ? descend() : stop(), 150);
  play.textContent = 'pause';
});
play.removeAttribute('aria-label');
const shownRate = make('span', {}, String(rate));
const rates = slider('learning rate', -3, 0.5, 0.1, Math.log10(rate), x => { rate = +(10 ** x).toPrecision(2); shownRate.textContent = rate; });
const again = button('start again', () => {
  Object.assign(now, told.data.parameters);
  losses.length = 0;
  moved.value = now[chosen];
  stop();
});
const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
bar.append(
  wide('x1', given[0], x => { given[0] = x; }), wide('x2', given[1], x => { given[1] = x; }), wide('target', aim, x => { aim = x; }),
  labelled('parameter', picked), labelled('value', moved), labelled('learning rate', rates), shownRate,
  button('step', descend), ...still ? [] : [play], again,
);
root.prepend(bar);
