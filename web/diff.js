// The difference of two texts, line by line.

/** @typedef {{ sign: ' ' | '-' | '+' | '…', text: string }} Line */

// More work than this is not worth it: all of the old text is shown as removed, all of the new one as added.
const mostCells = 250_000, around = 3;

/**
 * The lines of both texts, each with how it has changed; of what is equal only the lines around a change.
 * @param {string} before @param {string} after @returns {Line[]}
 */
export function diff(before, after) {
  const a = before === '' ? [] : before.split('\n'), b = after === '' ? [] : after.split('\n');
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  return [
    ...context(a.slice(0, head), true),
    ...changed(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...context(a.slice(a.length - tail), false),
  ];
}

/** @param {string[]} lines @param {boolean} above they stand above the change @returns {Line[]} */
function context(lines, above) {
  const near = above ? lines.slice(-around) : lines.slice(0, around), left = lines.length - near.length;
  const out = near.map((text) => line(' ', text));
  if (left) out.splice(above ? 0 : out.length, 0, line('…', `${left} equal lines`));
  return out;
}

/** @param {Line['sign']} sign @param {string} text @returns {Line} */
const line = (sign, text) => ({ sign, text });

/**
 * By the longest common subsequence of the lines.
 * @param {string[]} a @param {string[]} b @returns {Line[]}
 */
function changed(a, b) {
  const width = b.length + 1;
  if (a.length * b.length > mostCells) return [...a.map((t) => line('-', t)), ...b.map((t) => line('+', t))];
  const common = new Uint32Array((a.length + 1) * width); // of a from i on, and b from j on
  const at = (/** @type {number} */ i, /** @type {number} */ j) => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  /** @type {Line[]} */
  const out = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { out.push(line(' ', a[i] ?? '')); i++; j++; }
    else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) out.push(line('-', a[i++] ?? ''));
    else out.push(line('+', b[j++] ?? ''));
  }
  return out;
}
