// Broadcasts the typed shapes.
const shapes = picture.data.shapes, maxDims = picture.data.most, KINDS = picture.data.kinds;
const read = words => {
  const parts = words.replace(/[(),]/g, ' ').split(/\s+/).filter(Boolean);
  return parts.length <= maxDims && parts.every(part => /^\d{1,3}$/.test(part)) ? parts.map(Number) : null;
};
const write = (row, column, words, kind) => {
  const part = svg.querySelector(`[data-cell='${row} ${column}']`), [fill, tint, stroke, thick] = KINDS[kind || 'same'];
  part.style.display = kind ? 'inline' : 'none';
  for (const [name, value] of [['fill', fill], ['fill-opacity', tint], ['stroke', stroke], ['stroke-width', thick]]) part.querySelector('rect').setAttribute(name, value);
  part.querySelector('text').textContent = words;
};
const broadcast = () => {
  let fits = true;
  const result = [], width = Math.max(...shapes.map(shape => shape.length));
  for (let column = 0; column < maxDims; column += 1) {
    const back = maxDims - column, sizes = shapes.map(shape => shape[shape.length - back]);
    const wanted = [...new Set(sizes.filter(size => size !== undefined && size !== 1))];
    const all = wanted.length > 1 ? null : wanted.length ? wanted[0] : 1, used = back <= width;
    sizes.forEach((size, row) => {
      const bad = all === null && size !== undefined && size !== 1, stretched = size === undefined || (size === 1 && all !== 1);
      const words = stretched && !bad ? `${size === undefined ? '' : size} → ${all === null ? '?' : all}`.trim() : String(size);
      write(row, column, words, used && (bad ? 'conflict' : stretched ? 'stretched' : 'same'));
    });
    write('result', column, all === null ? 'error' : String(all), used && (all === null ? 'conflict' : 'result'));
    fits = fits && all !== null;
    if (used) result.push(all);
  }
  const [a, b] = shapes.map(shape => `(${shape.join(', ')})`);
  say(`${a} and ${b}: ${fits ? `the result has shape (${result.join(', ')})` : 'these sizes do not fit, so the operation raises an error'}`);
};
shapes.forEach((shape, row) => {
  const field = make('input', {type: 'text', size: 14, value: shape.join(', ')});
  const message = make('span', {role: 'alert'});
  field.oninput = () => {
    const sizes = read(field.value);
    message.textContent = sizes ? '' : ` Write at most ${maxDims} sizes below 1000, such as 4, 1`;
    if (sizes) { shapes[row] = sizes; broadcast(); }
  };
  bar.append(make('label', {}, `shape ${'ab'[row]} `, field, message));
});
requestAnimationFrame(() => { host.scrollLeft = host.scrollWidth; }); // short shapes are at the right
