// What a page remembers that stays open for long.

/**
 * Lets go of the oldest, so that no more than so many are left.
 * @param {Map<unknown, unknown> | Set<unknown>} all @param {number} most
 */
export function bound(all, most) {
  for (const key of all.keys()) {
    if (all.size <= most) return;
    all.delete(key);
  }
}
