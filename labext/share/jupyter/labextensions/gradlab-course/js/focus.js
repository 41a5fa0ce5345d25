// The keyboard's focus, which the browser drops with the element that has it.

const CONTROLS = 'button, input, select, summary';

/**
 * Change a part of the page. If this removes the focused control, focus its successor: the one with the same key or
 * words, else the first one, else the part itself.
 * after: what takes the part's place, if the change replaces it.
 */
export function keepFocus(part, change, after = part) {
  const before = part.contains(document.activeElement) ? document.activeElement : null;
  change();
  if (!before || before.isConnected) return;
  const controls = [...after.querySelectorAll(CONTROLS)].filter(each => !each.disabled && each.checkVisibility());
  const successor = controls.find(each => keyOf(each) === keyOf(before)) ?? controls[0];
  if (successor) {
    successor.focus();
    return;
  }
  if (!after.hasAttribute('tabindex')) after.tabIndex = -1;
  after.focus();
}

const keyOf = control => control.dataset.key ?? control.getAttribute('aria-label') ?? control.textContent;

const ROOM = 120; // pixels at the window's end that a message may cover

/** Scroll to the beginning of a card within its notebook, unless all of it is in sight, above where messages appear. */
export function scrollToBeginning(card, notebook) {
  const { top, bottom } = card.getBoundingClientRect();
  const isInSight = top >= notebook.getBoundingClientRect().top && bottom <= window.innerHeight - ROOM;
  if (!isInSight) card.scrollIntoView({ block: 'start' });
}

/** Scroll a result that has just appeared into the window, as little as that needs, with what it begins at if that fits. */
export function scrollIntoSight(result, beginning = null) {
  requestAnimationFrame(() => {
    beginning?.scrollIntoView({ block: 'nearest' });
    result.scrollIntoView({ block: 'nearest' });
  });
}
