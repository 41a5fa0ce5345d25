// The accuracies of the labs' milestones as a line that rises, for courses that state two or more.

import { element } from './elements.js';

const SVG = 'http://www.w3.org/2000/svg';

/**
 * The best accuracy by each lab. Returns null if fewer than two labs raise it.
 * labs: the course's labs, in order. reached: whether each is done. next: the index of the one to continue with, or -1.
 */
export function buildMilestoneLine(labs, reached, next) {
  const points = placeLabs(labs);
  const rises = points.filter(point => point.rises);
  if (rises.length < 2) return null;
  const section = element('section', '', { class: 'gradlab-milestones', 'aria-label': 'Milestones' });
  const figure = element('figure', '', { class: 'gradlab-rise' });
  figure.append(drawPlot(points, rises, reached, next), drawTicks(points, next));
  section.append(element('h2', 'What your model gets right'), element('p', describeReached(labs, reached, next)), figure);
  return section;
}

/** The labs from the first level on: {index, number, level, rises, x, y}, with x and y in percent from the top left. */
function placeLabs(labs) {
  let level = 0;
  const points = labs.map((lab, index) => {
    const rises = lab.accuracy > level;
    level = Math.max(level, lab.accuracy);
    return { index, number: lab.number, level, rises };
  }).filter(point => point.level);
  const lowest = points[0]?.level ?? 0;
  const span = Math.max(level - lowest, 1);
  return points.map((point, place) => ({
    ...point,
    x: (100 * (place + 0.5)) / points.length,
    y: 100 - (100 * (point.level - lowest)) / span,
  }));
}

function describeReached(labs, reached, next) {
  const last = labs.findLast((lab, index) => reached[index] && lab.milestone);
  const now = last ? `Lab ${last.number} gets you ${last.milestone}.` : 'No milestone is reached yet.';
  return next >= 0 && labs[next].milestone ? `${now} After lab ${labs[next].number}, you'll have ${labs[next].milestone}.` : now;
}

function drawPlot(points, rises, reached, next) {
  const plot = element('div', '', { class: 'gradlab-plot', role: 'img' });
  plot.setAttribute('aria-label', `The best by each lab: ${rises.map(point => `${point.level}% from lab ${point.number}`).join(', ')}.`);
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 100 100');
  svg.setAttribute('preserveAspectRatio', 'none');
  const gap = points.findIndex(point => !reached[point.index]);
  svg.append(drawLine(points, ''), drawLine(gap < 0 ? points : points.slice(0, gap), 'gradlab-walked'));
  plot.append(svg);
  for (const point of points) {
    const state = point.index === next ? ' gradlab-here' : reached[point.index] ? ' gradlab-reached' : '';
    plot.append(place(element('span', '', { class: `gradlab-point${state}` }), point.x, point.y));
    if (point.rises) plot.append(place(element('span', `${point.level}%`, { class: `gradlab-level${state}` }), point.x, point.y));
  }
  return plot;
}

function drawLine(points, style) {
  const line = document.createElementNS(SVG, 'polyline');
  line.setAttribute('points', points.map(({ x, y }) => `${x},${y}`).join(' '));
  line.setAttribute('class', style);
  return line;
}

function drawTicks(points, next) {
  const ticks = element('div', '', { class: 'gradlab-ticks', 'aria-hidden': 'true' });
  for (const { index, number, rises, x } of points) {
    const style = index === next ? 'gradlab-here' : rises ? 'gradlab-step-up' : '';
    ticks.append(place(element('span', number, { class: style }), x));
  }
  return ticks;
}

function place(node, x, y) {
  node.style.left = `${x}%`;
  if (y !== undefined) node.style.top = `${y}%`;
  return node;
}
