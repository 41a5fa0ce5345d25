// Makes the still picture live. `this` is the <img> whose onload this is: where no script runs, it stays.
const img = this, root = img.parentNode, told = JSON.parse(img.dataset.picture);
img.onload = null;
const make = (tag, attributes, ...inside) => {
  const it = document.createElement(tag);
  for (const name in attributes) it.setAttribute(name, attributes[name]);
  it.append(...inside);
  return it;
};
const host = make('div', {style: 'overflow-x:auto'}), bar = make('div', {style: 'display:flex;flex-wrap:wrap;gap:.4em 1em;align-items:center;margin:.3em 0'});
host.innerHTML = decodeURIComponent(img.getAttribute('src').split(',').slice(1).join(','));
const svg = host.firstChild, spoken = make('div', {'aria-live': 'polite', style: 'position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)'});
svg.querySelector('style')?.remove();
svg.style.cssText = 'max-width:100%;height:auto';
root.style.cssText = 'position:relative;color:var(--jp-content-font-color1,inherit);font:13px system-ui,sans-serif';
// A key that is pressed in a control is the control's, not the notebook's.
root.setAttribute('data-lm-suppress-shortcuts', 'true');
for (const kind of ['keydown', 'keypress', 'keyup']) root.addEventListener(kind, event => event.stopPropagation());

const say = words => {
  svg.querySelector('desc').textContent = words;
  svg.setAttribute('aria-label', `${told.title}: ${words}`);
  spoken.textContent = words;
};
const button = (words, act, label = words) => {
  const it = make('button', {type: 'button', 'aria-label': label, style: 'font:inherit;color:inherit;padding:.15em .6em;border-radius:3px;cursor:pointer;border:1px solid var(--jp-border-color0,#888);background:var(--jp-layout-color1,transparent)'}, words);
  it.onclick = act;
  return it;
};
const press = (it, on) => {
  it.setAttribute('aria-pressed', on);
  it.style.boxShadow = on ? 'inset 0 -3px var(--jp-brand-color1,#2b7bc0)' : '';
  it.style.fontWeight = on ? '600' : '';
};
const slider = (label, min, max, step, value, act) => {
  const it = make('input', {type: 'range', min, max, step, value, 'aria-label': label});
  it.oninput = () => act(+it.value);
  return it;
};

const at = told.groups.map(() => 0), follow = [];
const show = (group, choice) => {
  at[group] = choice;
  const frame = at.reduce((sum, now, g) => sum * told.groups[g].labels.length + now, 0);
  const holds = listed => listed.split(' ').some(run => { const [a, b = a] = run.split('-'); return +a <= frame && frame <= +b; });
  for (const part of svg.querySelectorAll('[data-only]')) part.style.display = holds(part.dataset.only) ? 'inline' : 'none';
  for (const part of svg.querySelectorAll('[data-strong]')) part.style.opacity = holds(part.dataset.strong) ? 1 : 0.2;
  follow.forEach(update => update());
  say(told.words[frame]);
};
told.groups.forEach(({name, labels, steps}, group) => {
  const set = make('div', {role: 'group', 'aria-label': name, style: 'display:flex;flex-wrap:wrap;gap:.3em;align-items:center'});
  bar.append(set);
  if (!steps) {
    const buttons = labels.map((label, choice) => button(label, () => show(group, choice)));
    follow.push(() => buttons.forEach((it, choice) => press(it, choice === at[group])));
    set.append(...buttons);
    return;
  }
  let timer = 0;
  const last = labels.length - 1, where = make('span', {}), move = to => show(group, Math.max(0, Math.min(last, to)));
  const stop = () => { clearInterval(timer); timer = 0; play.textContent = 'play'; play.setAttribute('aria-label', 'play'); };
  const go = to => { stop(); move(to); };
  const range = slider(name, 0, last, 1, 0, go), play = button('play', () => {
    if (timer) return stop();
    move(at[group] === last ? 0 : at[group] + 1);
    timer = setInterval(() => at[group] < last && root.isConnected ? move(at[group] + 1) : stop(), 1100);
    play.textContent = 'pause';
    play.setAttribute('aria-label', 'pause');
  });
  set.append(button('‹', () => go(at[group] - 1), 'previous step'), range, button('›', () => go(at[group] + 1), 'next step'));
  if (!matchMedia('(prefers-reduced-motion: reduce)').matches) set.append(play);
  set.append(where);
  follow.push(() => {
    range.value = at[group];
    range.setAttribute('aria-valuetext', labels[at[group]]);
    where.textContent = labels[at[group]];
  });
});
follow.forEach(update => update());
root.replaceChildren(...bar.childNodes.length ? [bar] : [], host, spoken);
