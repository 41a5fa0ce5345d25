// Stores the typed number as torch does: float64 to float32 to the format, with halves rounded to even.
const FORMATS = {float32: [8, 23], float16: [5, 10], bfloat16: [8, 7]};
const codeOf = (x, [exponent, fraction]) => {
  const infinite = (2 ** exponent - 1) * 2 ** fraction, bias = 2 ** (exponent - 1) - 1, size = Math.abs(Math.fround(x));
  if (Number.isNaN(x)) return infinite + 2 ** (fraction - 1);
  if (size === 0 || size === Infinity) return size && infinite;
  let power = Math.max(Math.floor(Math.log2(size)), 1 - bias);
  if (2 ** power > size) power = Math.max(power - 1, 1 - bias);
  if (2 ** (power + 1) <= size) power += 1;
  const exact = size / 2 ** (power - fraction), down = Math.floor(exact), rest = exact - down;
  const near = down + (rest > 0.5 || (rest === 0.5 && down % 2) ? 1 : 0);
  const code = power === 1 - bias && near < 2 ** fraction ? near : (power + bias - 1) * 2 ** fraction + near;
  return Math.min(code, infinite);
};
const valueOf = (code, [exponent, fraction]) => {
  const power = Math.floor(code / 2 ** fraction), rest = code % 2 ** fraction, bias = 2 ** (exponent - 1) - 1;
  if (power === 2 ** exponent - 1) return rest ? NaN : Infinity;
  return power ? (1 + rest / 2 ** fraction) * 2 ** (power - bias) : rest / 2 ** fraction * 2 ** (1 - bias);
};
const kindOf = (code, [exponent, fraction]) => {
  const power = Math.floor(code / 2 ** fraction), rest = code % 2 ** fraction;
  if (power === 2 ** exponent - 1) return rest ? 'nan' : 'inf';
  return power ? 'normal' : rest ? 'subnormal' : 'zero';
};
const formatNumber = v => {
  if (Number.isNaN(v)) return 'nan';
  if (!Number.isFinite(v)) return v > 0 ? 'inf' : '-inf';
  // Python rounds a half to the even digit; toExponential would round it up.
  const half = /^(-?\d\.\d{7}[02468])50{11}e(.*)$/.exec(v.toExponential(20));
  const [digits, power] = half ? half.slice(1) : v.toExponential(8).split('e');
  if (v !== 0 && (power < -4 || power > 8)) return `${+digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
  return Object.is(v, -0) ? '-0' : String(Number(`${digits}e${power}`));
};
const neighbor = (x, format, direction) => {
  const code = codeOf(x, format), kind = kindOf(code, format), minus = x < 0 || Object.is(x, -0);
  if (kind === 'nan' || (kind === 'inf' && !minus === direction > 0)) return minus ? -valueOf(code, format) : valueOf(code, format);
  if (code === 0) return direction * valueOf(1, format);
  const next = valueOf(code + (minus ? -direction : direction), format);
  return minus ? -next : next;
};
let stored = picture.data.number, chosen = 'float16';
const typed = make('input', {type: 'text', inputmode: 'decimal', size: 14, 'aria-label': 'number', value: stored});
const draw = x => {
  stored = x;
  const lines = [`${formatNumber(x)} is stored as`];
  svg.querySelector('[data-number]').textContent = `${formatNumber(x)}, stored`;
  for (const name in FORMATS) {
    const format = FORMATS[name], code = codeOf(x, format), part = svg.querySelector(`[data-format=${name}]`);
    const bits = (x < 0 || Object.is(x, -0) ? '1' : '0') + code.toString(2).padStart(format[0] + format[1], '0');
    part.querySelectorAll('rect').forEach((box, i) => box.setAttribute('fill-opacity', bits[i] === '1' ? picture.data.tints[1] : picture.data.tints[0]));
    part.querySelectorAll('text').forEach((word, i) => { word.textContent = bits[i]; });
    const value = (x < 0 ? -1 : 1) * valueOf(code, format);
    const words = `${formatNumber(value)} (${kindOf(code, format)}), between ${formatNumber(neighbor(x, format, -1))} and ${formatNumber(neighbor(x, format, 1))}`;
    svg.querySelector(`[data-value=${name}]`).textContent = words;
    lines.push(`${name} ${words}`);
  }
  say(lines.join('\n'));
};
const walk = direction => {
  const next = neighbor(stored, FORMATS[chosen], direction);
  if (Number.isFinite(next)) { typed.value = formatNumber(next); draw(next); }
};
typed.onchange = () => {
  const words = typed.value.trim().toLowerCase().replace('inf', 'Infinity').replace('Infinityinity', 'Infinity');
  const x = words === 'nan' ? NaN : Number(words);
  if (words !== '' && (words === 'nan' || !Number.isNaN(x))) draw(x);
  else caption.textContent = 'This is not a number. Write one such as 0.1, 1e-7 or inf.';
};
const choices = Object.keys(FORMATS).map(name => button(name, () => choose(name)));
const choose = name => { chosen = name; choices.forEach(node => press(node, node.textContent === name)); };
choose(chosen);
bar.append(make('label', {}, 'number ', typed), make('span', {role: 'group', 'aria-label': 'format', class: 'set'}, ...choices), button('next below', () => walk(-1)), button('next above', () => walk(1)));
