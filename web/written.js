// Values as JSON, for people. They may come from anybody, and the browser's own function calls itself for each level of them.

// From this depth on a value is written without indentation, which would take the square of the depth; beyond the second it is not written.
const indented = 60, deepest = 1000;

/**
 * A value as JSON; of what is nested too deeply, that it is.
 * @param {unknown} value @param {number} [indent]
 */
export function written(value, indent = 2) {
  const levels = depth(value);
  if (levels > deepest) return `[nested more than ${deepest} levels deep: it is not shown]`;
  return JSON.stringify(value, null, levels > indented ? 0 : indent) ?? '';
}

/** Whether a value is nested too deeply to be written. @param {unknown} value */
export const tooDeep = (value) => depth(value) > deepest;

/** How deeply a value is nested, as far as that matters: 0 is no array and no object. @param {unknown} value */
function depth(value) {
  let levels = -1;
  for (let all = [value]; all.length > 0 && levels <= deepest; levels++) {
    all = all.flatMap((v) => (typeof v === 'object' && v !== null ? Object.values(v) : []));
  }
  return Math.max(0, levels);
}
