// What a view draws, as text: for tests without a browser. It is imported before the views.

globalThis.document ??= Object.assign(new EventTarget(), { hidden: false, createTreeWalker() {}, createComment() {} }); // lit-html wants the last two when it is loaded
globalThis.sessionStorage ??= { getItem: () => null };
globalThis.location ??= { hash: '' };

/** A template with its values in it. @param {any} t @returns {string} */
export const markupOf = (t) => Array.isArray(t) ? t.map(markupOf).join('') : t?.strings ? t.strings.map((s, i) => s + markupOf(t.values[i])).join('')
  : typeof t === 'string' || typeof t === 'number' ? String(t) : '';

/** Its text, if no value has markup. @param {any} t */
export const textOf = (t) => markupOf(t).replace(/<[^>]*>/g, '');
