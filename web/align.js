// What two lists have in common: their longest common subsequence, and what lies between.

/** A place in the left list and one in the right list; -1 is none. @typedef {{ left: number, right: number, same: boolean }} Pair */
/** What is compared: key says what is the same, like what is of one kind. @typedef {{ key: string, like: string }} Entry */

// Longer lists are matched block by block: of a block, the pairs before the trusted part's end count, since what follows them may move them.
const block = 600, trusted = 450;

/**
 * Pairs equal entries of two lists in order; between them it pairs those that are alike, which differ, and the others stand alone.
 * @param {Entry[]} left @param {Entry[]} right
 * @returns {Pair[]}
 */
export function align(left, right) {
  /** @type {Pair[]} */
  const out = [];
  let i = 0, j = 0;
  for (const [a, b] of [...common(left.map((e) => e.key), right.map((e) => e.key)), /** @type {const} */ ([left.length, right.length])]) {
    out.push(...between(left.slice(i, a), right.slice(j, b), i, j));
    if (a < left.length) out.push({ left: a, right: b, same: true });
    i = a + 1;
    j = b + 1;
  }
  return out;
}

/** @param {Entry[]} left @param {Entry[]} right @param {number} i @param {number} j where they begin @returns {Pair[]} */
function between(left, right, i, j) {
  /** @type {Pair[]} */
  const out = [];
  let a = 0, b = 0;
  for (const [x, y] of [...common(left.map((e) => e.like), right.map((e) => e.like)), /** @type {const} */ ([left.length, right.length])]) {
    for (; a < x; a++) out.push({ left: i + a, right: -1, same: false });
    for (; b < y; b++) out.push({ left: -1, right: j + b, same: false });
    if (x < left.length) out.push({ left: i + a, right: j + b, same: left[a++]?.key === right[b++]?.key });
  }
  return out;
}

/**
 * The places of a longest common subsequence; of long lists, of one that is nearly as long.
 * @param {string[]} left @param {string[]} right
 * @returns {(readonly [number, number])[]}
 */
export function common(left, right) {
  let begin = 0, end = 0;
  while (begin < Math.min(left.length, right.length) && left[begin] === right[begin]) begin++;
  while (end < Math.min(left.length, right.length) - begin && left.at(-1 - end) === right.at(-1 - end)) end++;
  const n = left.length - begin - end, m = right.length - begin - end;
  /** @type {(readonly [number, number])[]} */
  const out = [];
  for (let k = 0; k < begin; k++) out.push([k, k]);
  for (let a = begin, b = begin; a < begin + n && b < begin + m;) {
    let pairs = middle(left.slice(a, Math.min(a + block, begin + n)), right.slice(b, Math.min(b + block, begin + m)));
    const whole = a + block >= begin + n && b + block >= begin + m;
    if (!whole) pairs = pairs.filter(([x, y]) => x < trusted && y < trusted);
    for (const [x, y] of pairs) out.push([a + x, b + y]);
    if (whole) break;
    const [x, y] = pairs.at(-1) ?? [0, 0], far = Math.max(x, y) >= trusted / 2;
    a += far ? x + 1 : trusted;
    b += far ? y + 1 : trusted;
  }
  for (let k = end; k > 0; k--) out.push([left.length - k, right.length - k]);
  return out;
}

/** @param {string[]} left @param {string[]} right @returns {[number, number][]} */
function middle(left, right) {
  const n = left.length, m = right.length, width = m + 1;
  const longest = new Uint16Array((n + 1) * width); // that of what begins at the two places
  /** @param {number} a @param {number} b */
  const of = (a, b) => longest[a * width + b] ?? 0;
  for (let a = n - 1; a >= 0; a--) {
    for (let b = m - 1; b >= 0; b--) {
      longest[a * width + b] = left[a] === right[b] ? of(a + 1, b + 1) + 1 : Math.max(of(a + 1, b), of(a, b + 1));
    }
  }
  /** @type {[number, number][]} */
  const out = [];
  for (let a = 0, b = 0; a < n && b < m;) {
    if (left[a] === right[b]) out.push([a++, b++]);
    else if (of(a + 1, b) >= of(a, b + 1)) a++;
    else b++;
  }
  return out;
}
