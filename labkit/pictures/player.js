// Makes the still picture interactive. `this` is the <img> whose onload runs this; without scripts, it stays still.
const img = this, root = img.parentNode, picture = JSON.parse(img.dataset.picture);
img.onload = null;
const make = (tag, attributes, ...inside) => {
  const node = document.createElement(tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  node.append(...inside);
  return node;
};
const host = make('div', {style: 'overflow-x:auto'}), bar = make('div', {style: 'display:flex;flex-wrap:wrap;gap:.4em 1em;align-items:center;margin:.3em 0'});
host.innerHTML = decodeURIComponent(img.getAttribute('src').split(',').slice(1).join(','));
const svg = host.firstChild, liveRegion = make('div', {'aria-live': 'polite', style: 'position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)'});
svg.querySelector('style')?.remove();
svg.style.cssText = 'max-width:100%;height:auto';
root.style.cssText = 'position:relative;color:var(--jp-content-font-color1,inherit);font:13px system-ui,sans-serif';
// Keys pressed in a control belong to it, not to the notebook.
root.setAttribute('data-lm-suppress-shortcuts', 'true');
for (const kind of ['keydown', 'keypress', 'keyup']) root.addEventListener(kind, event => event.stopPropagation());

const say = words => {
  svg.querySelector('desc').textContent = words;
  svg.setAttribute('aria-label', `${picture.title}: ${words}`);
  liveRegion.textContent = words;
};
const button = (words, action, label = words) => {
  const node = make('button', {type: 'button', 'aria-label': label, style: 'font:inherit;color:inherit;padding:.15em .6em;border-radius:3px;cursor:pointer;border:1px solid var(--jp-border-color0,#888);background:var(--jp-layout-color1,transparent)'}, words);
  node.onclick = action;
  return node;
};
const press = (node, on) => {
  node.setAttribute('aria-pressed', on);
  node.style.boxShadow = on ? 'inset 0 -3px var(--jp-brand-color1,#2b7bc0)' : '';
  node.style.fontWeight = on ? '600' : '';
};
const slider = (label, min, max, step, value, action) => {
  const node = make('input', {type: 'range', min, max, step, value, 'aria-label': label});
  node.oninput = () => action(+node.value);
  return node;
};

const current = picture.groups.map(() => 0), updates = [];
const show = (group, choice) => {
  current[group] = choice;
  const frame = current.reduce((sum, choice, g) => sum * picture.groups[g].labels.length + choice, 0);
  const includes = frames => frames.split(' ').some(run => { const [a, b = a] = run.split('-'); return +a <= frame && frame <= +b; });
  for (const part of svg.querySelectorAll('[data-only]')) part.style.display = includes(part.dataset.only) ? 'inline' : 'none';
  for (const part of svg.querySelectorAll('[data-strong]')) part.style.opacity = includes(part.dataset.strong) ? 1 : 0.2;
  updates.forEach(update => update());
  say(picture.words[frame]);
};
picture.groups.forEach(({name, labels, steps}, group) => {
  const set = make('div', {role: 'group', 'aria-label': name, style: 'display:flex;flex-wrap:wrap;gap:.3em;align-items:center'});
  bar.append(set);
  if (!steps) {
    const buttons = labels.map((label, choice) => button(label, () => show(group, choice)));
    updates.push(() => buttons.forEach((node, choice) => press(node, choice === current[group])));
    set.append(...buttons);
    return;
  }
  let timer = 0;
  const last = labels.length - 1, position = make('span', {}), move = to => show(group, Math.max(0, Math.min(last, to)));
  const stop = () => { clearInterval(timer); timer = 0; play.textContent = 'play'; play.setAttribute('aria-label', 'play'); };
  const go = to => { stop(); move(to); };
  const range = slider(name, 0, last, 1, 0, go), play = button('play', () => {
    if (timer) return stop();
    move(current[group] === last ? 0 : current[group] + 1);
    timer = setInterval(() => current[group] < last && root.isConnected ? move(current[group] + 1) : stop(), 1100);
    play.textContent = 'pause';
    play.setAttribute('aria-label', 'pause');
  });
  set.append(button('‹', () => go(current[group] - 1), 'previous step'), range, button('›', () => go(current[group] + 1), 'next step'));
  if (!matchMedia('(prefers-reduced-motion: reduce)').matches) set.append(play);
  set.append(position);
  updates.push(() => {
    range.value = current[group];
    range.setAttribute('aria-valuetext', labels[current[group]]);
    position.textContent = labels[current[group]];
  });
});
updates.forEach(update => update());
root.replaceChildren(...bar.childNodes.length ? [bar] : [], host, liveRegion);
