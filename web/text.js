// Text from outside: models, tools, files, other people. It is text and never markup. Two functions may make more of it than one
// text node: reveal, which shows what would be invisible, and markdown, which goes through a sanitizer.

import { html } from './lib/lit-html.js';
import { Marked } from './lib/marked.js';
import purify from './lib/purify.js';

// Characters that people do not see, or that change what they see: controls but tab and line feed, the soft hyphen, fillers and blanks of
// other widths than a space, marks of direction and joining, variation selectors, interlinear marks, and the tags, which are copies of
// ASCII that nothing draws (Unicode 17, Default_Ignorable_Code_Point, Bidi_Control; UTS 39).
const unseen =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00A0\u00AD\u034F\u061C\u115F\u1160\u1680\u17B4\u17B5\u180B-\u180F\u2000-\u200F\u2028-\u202F\u205F-\u206F\u2800\u3000\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFC]|[\u{1BCA0}-\u{1BCA3}\u{1D159}\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/gu;

/** @param {string} c */
const code = (c) => `U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/**
 * The text with a mark in the place of each character that cannot be seen: for what somebody decides about. Each mark is an element up to
 * a number of them; those after it are text in brackets, so that no text makes too many elements.
 * @param {string} text @param {number} [most]
 */
export function reveal(text, most = 100) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(unseen)) {
    if (parts.length >= 2 * most) break;
    parts.push(text.slice(from, found.index), html`<span class="unseen" title="a character that cannot be seen">${code(found[0])}</span>`);
    from = found.index + found[0].length;
  }
  parts.push(text.slice(from).replace(unseen, (c) => `[${code(c)}]`));
  return html`<bdi dir="ltr">${parts}</bdi>`;
}

/** The text with the code of each character that cannot be seen in its place: for what is long, as one text. @param {string} text */
export const spell = (text) => text.replace(unseen, (c) => `[${code(c)}]`);

/** How many characters of a text cannot be seen. @param {string} text */
export const unseenIn = (text) => text.match(unseen)?.length ?? 0;

// A longer text is shown as it is: nobody reads it, and to parse it would take too long.
const longestMarkdown = 100_000;

const allowed = {
  ALLOWED_TAGS: ['p', 'br', 'hr', 'em', 'strong', 'del', 'code', 'pre', 'blockquote', 'ul', 'ol', 'li', 'a', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6',
    'table', 'thead', 'tbody', 'tr', 'th', 'td'],
  ALLOWED_ATTR: ['href', 'align', 'start'],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false, RETURN_DOM_FRAGMENT: true, RETURN_TRUSTED_TYPE: false,
};

/**
 * What Markdown says, as nodes. Raw HTML in it is shown as text, an image as its description, and a link with the place where it leads.
 * @param {string} text
 * @returns {Node}
 */
export function markdown(text) {
  if (text.length > longestMarkdown) return document.createTextNode(text);
  let out;
  try {
    out = /** @type {DocumentFragment} */ (/** @type {unknown} */ (purify.sanitize(/** @type {string} */ (parser.parse(text)), allowed)));
  } catch {
    return document.createTextNode(text); // such as one that is nested too deeply
  }
  for (const link of out.querySelectorAll('a')) {
    link.target = '_blank';
    link.rel = 'noopener noreferrer nofollow';
    link.title = link.href;
    if (link.textContent !== link.href && !link.href.startsWith('mailto:')) link.append(` (${link.host})`);
  }
  const box = document.createElement('div');
  box.className = 'markdown';
  box.append(out);
  return box;
}

/** @param {string} s */
const escape = (s) => s.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const parser = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => escape(text),
    image: ({ text, href }) => `[image: ${escape(text || href)}]`,
  },
});
