// How large an image is in pixels, by its first bytes: it is known before a browser decodes it.

// A JPEG says its size behind what a camera or a program has noted: so many characters of base64 are enough, a multiple of 4.
export const firstBytes = 400_000;

/** @typedef {{ width: number, height: number }} Size */

/**
 * The size of a PNG, GIF, JPEG or WebP, whatever it claims to be; undefined is none of these, or one that is not written as usual.
 * @param {string} base64 @returns {Size | undefined}
 */
export function sizeOf(base64) {
  let text;
  try {
    text = atob(base64.slice(0, firstBytes));
  } catch {
    return undefined;
  }
  for (const read of [png, gif, jpeg, webp]) {
    const size = read(text);
    if (size && size.width > 0 && size.height > 0) return size;
  }
  return undefined;
}

/** A number of some bytes, the highest first; NaN beyond the end. @param {string} text @param {number} at @param {number} bytes */
function big(text, at, bytes) {
  let n = 0;
  for (let i = 0; i < bytes; i++) n = n * 256 + text.charCodeAt(at + i);
  return n;
}

/** The same, the lowest first. @param {string} text @param {number} at @param {number} bytes */
function little(text, at, bytes) {
  let n = 0;
  for (let i = bytes - 1; i >= 0; i--) n = n * 256 + text.charCodeAt(at + i);
  return n;
}

/** @param {string} text @returns {Size | undefined} */
function png(text) {
  if (!text.startsWith('\x89PNG\r\n\x1a\n') || text.slice(12, 16) !== 'IHDR') return undefined;
  return { width: big(text, 16, 4), height: big(text, 20, 4) };
}

/** A browser makes the screen of a GIF larger if its first image is. @param {string} text @returns {Size | undefined} */
function gif(text) {
  if (!/^GIF8[79]a/.test(text)) return undefined;
  const flags = text.charCodeAt(10);
  let at = 13 + (flags & 0x80 ? 3 << ((flags & 7) + 1) : 0);
  while (text[at] === '!') { // an extension: its kind, and pieces with their lengths
    for (at += 2; big(text, at, 1) > 0;) at += 1 + big(text, at, 1);
    at++;
  }
  if (text[at] !== ',') return undefined;
  return {
    width: Math.max(little(text, 6, 2), little(text, at + 1, 2) + little(text, at + 5, 2)),
    height: Math.max(little(text, 8, 2), little(text, at + 3, 2) + little(text, at + 7, 2)),
  };
}

/** @param {string} text @returns {Size | undefined} */
function jpeg(text) {
  if (!text.startsWith('\xff\xd8')) return undefined;
  for (let at = 2; text[at] === '\xff';) {
    const kind = big(text, at + 1, 1);
    if (kind === 0xff) { at++; continue; } // filling
    if (kind >= 0xc0 && kind <= 0xcf && kind !== 0xc4 && kind !== 0xc8 && kind !== 0xcc) return { width: big(text, at + 7, 2), height: big(text, at + 5, 2) };
    const length = big(text, at + 2, 2);
    if (!(kind === 0xc4 || kind === 0xcc || (kind >= 0xdb && kind <= 0xef) || kind === 0xfe) || !(length >= 2)) return undefined;
    at += 2 + length;
  }
  return undefined;
}

/** @param {string} text @returns {Size | undefined} */
function webp(text) {
  if (!text.startsWith('RIFF') || text.slice(8, 12) !== 'WEBP') return undefined;
  switch (text.slice(12, 16)) {
    case 'VP8X': return { width: little(text, 24, 3) + 1, height: little(text, 27, 3) + 1 };
    case 'VP8 ': return text.slice(23, 26) === '\x9d\x01\x2a' ? { width: little(text, 26, 2) & 0x3fff, height: little(text, 28, 2) & 0x3fff } : undefined;
    case 'VP8L': {
      const bits = little(text, 21, 4);
      return text[20] === '\x2f' ? { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 } : undefined;
    }
  }
  return undefined;
}
