// Makes the still picture interactive. `this` is the <img> whose onload runs this; without scripts, it stays still.
const img = this, root = img.parentNode, picture = JSON.parse(img.dataset.picture);
img.onload = null;
const make = (tag, attributes, ...inside) => {
  const node = document.createElement(tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  node.append(...inside);
  return node;
};
const calm = matchMedia('(prefers-reduced-motion: reduce)');
const bar = make('div', {class: 'bar'}), host = make('div', {class: 'scroll'});
const hint = make('p', {class: 'hint', hidden: ''});
const caption = make('p', {class: picture.caption ? 'caption' : 'spoken', 'aria-live': 'polite'});
host.innerHTML = decodeURIComponent(img.getAttribute('src').split(',').slice(1).join(','));
const svg = host.firstChild, note = svg.querySelector('[data-caption]');
svg.querySelector('style')?.remove();
svg.querySelector('title')?.remove();
svg.style.cssText = picture.sizes;
if (note) {
  svg.setAttribute('viewBox', `0 0 ${svg.getAttribute('width')} ${note.dataset.caption}`);
  svg.setAttribute('height', note.dataset.caption);
  note.remove();
}
root.style.cssText = '';
// Keys pressed in a control belong to it, not to the notebook, except Escape and what isn't typed. These are handed on from
// outside the picture, where JupyterLab's shortcuts aren't suppressed and those of a selected cell don't apply.
root.setAttribute('data-lm-suppress-shortcuts', 'true');
const isEdit = ({target, key, altKey, shiftKey}) => target.matches('[type=text]') && !altKey && (/^(z|Arrow.*|Backspace|Delete|Home|End)$/i.test(key) || (!shiftKey && /^[acvxy]$/i.test(key)));
const handOn = event => {
  event.stopPropagation();
  if (event.key === 'Escape') root.closest('.jp-Cell')?.focus();
  else if ((event.ctrlKey || event.metaKey || event.altKey) && !isEdit(event) && !root.parentNode.dispatchEvent(new KeyboardEvent(event.type, event))) event.preventDefault();
};
root.addEventListener('keydown', handOn);
for (const kind of ['keypress', 'keyup']) root.addEventListener(kind, event => event.stopPropagation());

const say = words => {
  svg.querySelector('desc').textContent = words;
  svg.setAttribute('aria-label', `${picture.title}: ${words}`);
  caption.textContent = words;
};
const button = (words, action, label = words) => {
  const node = make('button', {type: 'button', 'aria-label': label}, words);
  node.onclick = () => node.getAttribute('aria-disabled') === 'true' || action();
  return node;
};
const press = (node, on) => node.setAttribute('aria-pressed', on);
const slider = (label, min, max, step, value, action) => {
  const node = make('input', {type: 'range', min, max, step, value, 'aria-label': label});
  node.oninput = () => action(+node.value);
  return node;
};
// Whatever the theme is called: words are light on dark backgrounds.
const matchTheme = () => {
  const [red, green, blue] = getComputedStyle(root).color.match(/[\d.]+/g) ?? [0, 0, 0];
  root.toggleAttribute('data-dark', 0.3 * red + 0.6 * green + 0.1 * blue > 128);
};
// A picture fits its page. If its words are too small then, the reader can enlarge it, and scrolls. A page may also have
// pictures begin at the least width at which their words can be read.
const [fitted, enlarged] = picture.least;
root.style.setProperty('--gradlab-least-width', `${fitted}px`);
const resize = width => {
  svg.style.minWidth = width;
  enlarge.textContent = parseInt(width) ? 'Fit to the page' : 'Enlarge';
  enlarge.setAttribute('aria-label', `${enlarge.textContent}: ${picture.title}`);
};
const enlarge = button('Enlarge', () => {
  resize(parseInt(svg.style.minWidth) ? '0px' : `${enlarged}px`);
  fit();
});
resize('');
const advice = make('span', {});
hint.append(enlarge, ' ', advice);
const fit = () => {
  const wide = host.scrollWidth > host.clientWidth + 1;
  hint.hidden = host.clientWidth >= fitted;
  if (hint.hidden && svg.style.minWidth) resize('');
  host.classList.toggle('wide', wide);
  advice.textContent = wide ? 'Scroll sideways to see the whole picture.' : '';
  for (const [name, value] of [['tabindex', 0], ['role', 'group'], ['aria-label', `${picture.title}, scrolls sideways`]])
    wide ? host.setAttribute(name, value) : host.removeAttribute(name);
  matchTheme();
};

const current = picture.groups.map(() => 0), updates = [];
const findFrame = () => current.reduce((sum, choice, g) => sum * picture.groups[g].labels.length + choice, 0);
const includes = (frames, frame) => frames.split(' ').some(run => { const [a, b = a] = run.split('-'); return +a <= frame && frame <= +b; });
// What a step sends moves along its route, and rests at the route's end.
const travel = () => {
  for (const part of svg.querySelectorAll('[data-route]')) {
    part.getAnimations().forEach(one => one.cancel());
    if (calm.matches || part.closest('[data-only]').style.display === 'none') continue;
    const route = document.createElementNS(svg.namespaceURI, 'path');
    route.setAttribute('d', part.dataset.route);
    const length = route.getTotalLength(), points = [...Array(25).keys()].map(n => route.getPointAtLength(length * n / 24));
    part.animate(points.map(({x, y}) => ({transform: `translate(${x}px, ${y}px)`})), {duration: 900, easing: 'ease-in-out'});
  }
};
const show = (group, choice) => {
  const onward = picture.groups[group].steps && choice === current[group] + 1;
  current[group] = choice;
  const frame = findFrame();
  for (const part of svg.querySelectorAll('[data-only]')) part.style.display = includes(part.dataset.only, frame) ? 'inline' : 'none';
  for (const part of svg.querySelectorAll('[data-strong]')) part.style.opacity = includes(part.dataset.strong, frame) ? 1 : 0.2;
  updates.forEach(update => update());
  say(picture.words[frame]);
  if (onward) travel();
};
picture.groups.forEach(({name, labels, steps}, group) => {
  const set = make('div', {role: 'group', 'aria-label': name, class: 'set'});
  bar.append(set);
  if (!steps) {
    const buttons = labels.map((label, choice) => button(label, () => show(group, choice)));
    updates.push(() => buttons.forEach((node, choice) => press(node, choice === current[group])));
    set.append(...buttons);
    return;
  }
  let timer = 0;
  const last = labels.length - 1, position = make('span', {class: 'number'}), move = to => show(group, Math.max(0, Math.min(last, to)));
  const rename = words => { play.textContent = words; play.setAttribute('aria-label', words); };
  const stop = () => { clearInterval(timer); timer = 0; rename('play'); };
  const go = to => { stop(); move(to); };
  const advance = () => {
    if (!root.isConnected) return stop();
    move(current[group] + 1);
    if (current[group] === last) stop();
  };
  const range = slider(name, 0, last, 1, 0, go), play = button('play', () => {
    if (timer) return stop();
    timer = setInterval(advance, 1500);
    rename('pause');
    if (current[group] === last) move(0);
    else advance();
  });
  const back = button('‹', () => go(current[group] - 1), 'previous step'), next = button('›', () => go(current[group] + 1), 'next step');
  set.append(back, range, next);
  if (!calm.matches) set.append(play);
  set.append(position);
  updates.push(() => {
    range.value = current[group];
    range.setAttribute('aria-valuetext', labels[current[group]]);
    back.setAttribute('aria-disabled', current[group] === 0);
    next.setAttribute('aria-disabled', current[group] === last);
    position.textContent = labels[current[group]];
  });
});
const fold = ({title, rows}) => {
  const [head, ...body] = rows, line = (tag, cells) => make('tr', {}, ...cells.map(cell => make(tag, {}, cell)));
  const table = make('table', {}, make('thead', {}, line('th', head)), make('tbody', {}, ...body.map(cells => line('td', cells))));
  return make('details', {}, make('summary', {}, title), make('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': title}, table));
};
updates.forEach(update => update());
root.replaceChildren(make('style', {}, picture.style), bar, hint, host, caption, ...picture.table ? [fold(picture.table)] : []);
say(picture.words[0]);
new ResizeObserver(fit).observe(host);
const watch = new MutationObserver(matchTheme);
for (const node of [document.documentElement, document.body]) watch.observe(node, {attributes: true});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', matchTheme);
matchTheme();
