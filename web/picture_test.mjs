// node --test web/picture_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import { textOf } from './drawn.mjs';
import { sizeOf } from './picture.js';
import { image } from './views/blocks.js';

const base64 = (...parts) => Buffer.concat(parts.map((p) => typeof p === 'string' ? Buffer.from(p, 'latin1') : Buffer.from(p))).toString('base64');
const big = (n, bytes) => Array.from({ length: bytes }, (_, i) => Math.floor(n / 256 ** (bytes - 1 - i)) % 256), little = (n, bytes) => big(n, bytes).reverse();

const png = (w, h) => base64('\x89PNG\r\n\x1a\n', big(13, 4), 'IHDR', big(w, 4), big(h, 4), [8, 6, 0, 0, 0]);
const gif = (w, h, iw, ih) => base64('GIF89a', little(w, 2), little(h, 2), [0x81, 0, 0], new Uint8Array(12), '!\xfe', [3], 'abc', [0], ',', [0, 0, 0, 0], little(iw, 2), little(ih, 2), [0]);
const jpeg = (w, h, noted = 10) => base64('\xff\xd8\xff\xe1', big(noted + 2, 2), new Uint8Array(noted), '\xff\xff\xdb', big(4, 2), [0, 0], '\xff\xc2', big(17, 2), [8], big(h, 2), big(w, 2), [3]);
const webp = (kind, ...rest) => base64('RIFF', little(100, 4), 'WEBP', kind, little(10, 4), ...rest);

test('the size of an image is read from its first bytes', () => {
  for (const [data, width, height] of [
    [png(30_000, 30_000), 30_000, 30_000],
    ['iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==', 1, 1],
    ['R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 1, 1],
    [gif(20, 10, 20, 10), 20, 10],
    [gif(1, 1, 20_000, 30_000), 20_000, 30_000],
    [jpeg(640, 480), 640, 480],
    [jpeg(640, 480, 60_000), 640, 480],
    [webp('VP8X', [0, 0, 0, 0], little(16_382, 3), little(9, 3)), 16_383, 10],
    [webp('VP8 ', [0, 0, 0], '\x9d\x01\x2a', little(320 | 0x4000, 2), little(200, 2)), 320, 200],
    [webp('VP8L', '\x2f', little((320 - 1) + (200 - 1) * 2 ** 14 + 2 ** 28, 4)), 320, 200],
  ]) assert.deepEqual(sizeOf(data), { width, height });
});

test('what cannot be read has no size', () => {
  const whole = [png(5, 5), gif(5, 5, 5, 5), jpeg(5, 5), webp('VP8X', [0, 0, 0, 0], [4, 0, 0], [4, 0, 0])];
  for (const data of ['', '====', 'AAAA', 'not base64!', base64('BM', little(100, 4)), base64('\xff\xd8garbage\xff\xc0', big(17, 2), [8, 0, 5, 0, 5]), base64('\xff\xd8\xff\xd0\xff\xc0'), jpeg(5, 0),
    ...whole.map((d) => d.slice(0, 20))]) assert.equal(sizeOf(data), undefined, data);
});

test('an image of too many pixels, or of nobody knows how many, is shown when somebody asks for it', () => {
  const log = { shown: new Map(), fold() {} };
  const draw = (data) => { const t = image(log, 'k', { kind: 'image', mime: 'image/png', data }); return t.strings.join('').includes('<img') ? 'shown' : textOf(t); };
  assert.equal(draw(png(4000, 4000)), 'shown');
  assert.match(draw(png(30_000, 30_000)), /Show an image of 30 B, 30,000 × 30,000 pixels/);
  assert.match(draw('AAAA'), /Show an image of 3 B, of unknown size in pixels/);
  assert.match(draw('A'.repeat(4_000_000)), /Show an image of 3.0 MB/);
  log.shown.set('k', 1);
  assert.equal(draw(png(30_000, 30_000)), 'shown');
});
