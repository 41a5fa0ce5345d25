// Shows which elements and which slot belong together, of the one at which the reader points or which has the focus.
const cells = [...svg.querySelectorAll('[data-slot]')];
let pinned = null;
svg.setAttribute('role', 'group');
const visible = () => cells.filter(cell => includes(cell.closest('[data-only]')?.dataset.only ?? '0', findFrame()));
const locate = cell => ['x', 'y'].map(name => +cell.querySelector('rect').getAttribute(name));
const link = cell => {
  const same = cell ? visible().filter(other => other.dataset.slot === cell.dataset.slot) : [];
  for (const other of cells) {
    other.classList.toggle('linked', same.includes(other));
    other.setAttribute('aria-pressed', other === pinned);
  }
  svg.classList.toggle('linking', same.length > 0);
  caption.setAttribute('aria-live', cell ? 'off' : 'polite'); // a screen reader says the name of what has the focus
  caption.textContent = cell ? cell.dataset.label : picture.words[findFrame()];
};
const focusOn = cell => {
  cells.forEach(other => other.setAttribute('tabindex', other === cell ? 0 : -1));
  cell.focus();
};
const step = (cell, key) => {
  const [x, y] = locate(cell), apart = visible().map(other => { const [a, b] = locate(other); return [other, a - x, b - y]; });
  const ways = {ArrowRight: ([, dx, dy]) => !dy && dx > 0, ArrowLeft: ([, dx, dy]) => !dy && dx < 0, ArrowDown: ([, , dy]) => dy > 0, ArrowUp: ([, , dy]) => dy < 0};
  return apart.filter(ways[key] ?? (() => false)).sort((a, b) => Math.abs(a[2]) - Math.abs(b[2]) || Math.abs(a[1]) - Math.abs(b[1]))[0]?.[0];
};
for (const cell of cells) {
  for (const [name, value] of [['role', 'button'], ['aria-label', cell.dataset.label], ['aria-pressed', false]]) cell.setAttribute(name, value);
  const pin = () => { pinned = pinned === cell ? null : cell; link(cell); };
  cell.onpointerenter = () => link(cell);
  cell.onpointerleave = () => link(svg.querySelector('[data-slot]:focus') ?? pinned);
  cell.onfocus = () => link(cell);
  cell.onblur = () => link(pinned);
  cell.onclick = pin;
  cell.onkeydown = event => {
    const next = step(cell, event.key);
    if (next) focusOn(next);
    else if (event.key === 'Enter' || event.key === ' ') pin();
    else return;
    event.preventDefault();
  };
}
const enter = () => { pinned = null; link(null); cells.forEach(cell => cell.setAttribute('tabindex', cell === visible()[0] ? 0 : -1)); };
updates.push(enter);
enter();
