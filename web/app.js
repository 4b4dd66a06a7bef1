// The page: who is here, where they are, and what is drawn. A view is a class (see View); the part of the URL behind # says which one, and
// what it shows. Whatever changes, the whole page is described again, at most once a frame; lit-html changes what differs.

import { html, nothing, render } from './dom.js';
import { Failure, del, get, useToken } from './api.js';
import { views } from './views/all.js';
import { Waiting } from './waiting.js';

/** @typedef {import('./api.js').Schemas} Schemas */

/**
 * What a view gets of the page.
 * @typedef {object} Page
 * @property {() => void} changed draws the page again soon
 * @property {(err: unknown) => void} failed shows an error until the next one, or until it is closed
 * @property {(text: string) => void} say tells for a moment what has happened
 * @property {(...parts: string[]) => void} go shows another view: its name, and what it is to show
 * @property {(scope: string) => boolean} may whether who is here has a scope
 * @property {Schemas['Me']} me who is here
 * @property {Waiting} waiting what waits for a person
 */

/**
 * A view is made when somebody goes to it, and ended when they leave.
 * @typedef {object} View
 * @property {string} title
 * @property {(signal: AbortSignal) => Promise<void>} open fetches what it shows, and follows it until the signal
 * @property {() => unknown} draw
 * @property {boolean} [broken] it stands for one that could not be drawn
 * @property {(...parts: string[]) => boolean} [moved] the place within the view has changed; false makes it anew
 */

const root = /** @type {HTMLElement} */ (document.getElementById('page'));

let drawn = 0, error = '', said = '', menu = false;
let forget = 0, saidAt = 0;
// How long it stands there what has happened, in milliseconds; and when it is so old that it is not taken along to another place.
const toRead = 8000, old = 1000;
/** What the view should show does not exist. */
let missing = false;
// The focus goes to the heading of a view once that is there, unless somebody is quicker.
let arriving = false;
/** @type {Schemas['Me'] | undefined} */
let me;
/** @type {{ name: string, view: View, end: AbortController } | undefined} */
let shown;

/** @type {Page} */
const page = {
  changed() {
    if (!drawn) drawn = requestAnimationFrame(() => { drawn = 0; paint(); if (arriving) arrive(); });
  },
  failed(err) {
    if (err instanceof DOMException && err.name === 'AbortError') return;
    if (err instanceof Failure && err.status === 0 && me) return waiting.reached(err.message);
    error = err instanceof Error ? err.message : String(err);
    if (err instanceof Failure && err.status === 401) {
      if (me) error = 'This session has ended: somebody left it in another window, or the daemon was started again.';
      leave();
    } else if (!(err instanceof Failure)) console.error(err);
    page.changed();
  },
  say(text) {
    said = text;
    saidAt = performance.now();
    clearTimeout(forget);
    forget = setTimeout(() => { said = ''; page.changed(); }, toRead);
    page.changed();
  },
  go(...parts) { location.hash = '#/' + parts.map(encodeURIComponent).join('/'); },
  may: (scope) => !!me?.scopes.some((s) => s === scope),
  get me() { return /** @type {Schemas['Me']} */ (me); },
  get waiting() { return waiting; },
};

const waiting = new Waiting(page, notify);

const first = 'conversations';

/** The name of the view that the URL names, and what it is to show. */
function place() {
  const [name = '', ...rest] = location.hash.replace(/^#\/?/, '').split('/').map(decoded);
  return { name: name || first, rest };
}

/** A part of the URL; as it is if it is none of ours. @param {string} text */
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function move() {
  if (!me) return;
  waiting.settle(0); // what waits may come under a pointer with the view
  const { name, rest } = place();
  error = '';
  if (performance.now() - saidAt > old) said = '';
  if (!missing && shown?.name === name && shown.view.moved?.(...rest)) return page.changed();
  shown?.end.abort();
  menu = false;
  arriving = !!shown;
  const View = views.find((v) => v.name === name)?.View ?? Nowhere;
  const now = shown = { name, view: new View(page, ...rest), end: new AbortController() };
  missing = false;
  now.view.open(now.end.signal).catch((err) => {
    if (shown !== now) return;
    missing = err instanceof Failure && err.status === 404;
    if (!missing) return page.failed(err);
    now.end.abort(); // what else the view follows
    page.changed();
  });
  page.changed();
}

/** What an address leads to that is none of the page's. */
class Nowhere {
  title = 'No such page';
  async open() {}
  draw() { return html`<h1>No such page</h1><p>The address names none. <a href="#/${first}">Conversations</a></p>`; }
}

/** What is shown in the place of what does not exist. */
function notThere() {
  const view = views.find((v) => v.name === shown?.name && !v.hidden) ?? views.find((v) => v.name === first);
  return html`<h1>Not found</h1>
    <p><bdi>${shown?.view.title}</bdi>: what the address names does not exist, or not any more.</p>
    <p><a href="#/${view?.name}">${view?.label}</a></p>`;
}

function arrive() {
  const main = document.getElementById('main'), heading = /** @type {HTMLElement | null} */ (main?.querySelector('h1') ?? null);
  const elsewhere = document.activeElement !== main && main?.contains(document.activeElement);
  if (!heading && !elsewhere) return;
  arriving = false;
  if (elsewhere) return;
  heading?.setAttribute('tabindex', '-1');
  heading?.focus();
}

let here = new AbortController();

/** What has become of the link that was followed here: entered, used, or null without one. It counts instead of a token of before. */
function followed() {
  const link = new URLSearchParams(location.search).get('link');
  if (link) history.replaceState(null, '', location.pathname + location.hash);
  if (link === 'entered') useToken('');
  return link;
}

/** Finds out who is here, and shows the page to them. It returns why it does not. */
async function enter() {
  let why;
  try {
    me = await get('/v1/me');
    error = '';
    here.abort();
    here = new AbortController();
    waiting.follow(here.signal);
    move();
  } catch (err) {
    why = err;
  }
  page.changed();
  return why;
}

/** @param {unknown} err */
const unknown = (err) => err instanceof Failure && err.status === 401;

function leave() {
  useToken('');
  here.abort();
  waiting.items = [];
  shown?.end.abort();
  shown = me = undefined;
}

/** Something new waits for a person, wherever they are. */
function notify() {
  const open = waiting.open(), approvals = open.filter((x) => x.ask).length, questions = open.length - approvals;
  const text = [approvals && `${approvals} to approve`, questions && `${questions} to answer`].filter(Boolean).join(', ');
  page.say(`waiting for you: ${text}`);
  if (document.hidden && 'Notification' in window && Notification.permission === 'granted') {
    const note = new Notification('Grapnel waits for you', { body: text, tag: 'grapnel' });
    note.onclick = () => { window.focus(); page.go('people'); note.close(); };
  }
}

// A view that cannot be drawn must not take the page with it, whatever somebody has sent it.
function paint() {
  const moved = waiting.watch();
  try {
    render(draw(), root);
    requestAnimationFrame(moved); // by then a log that keeps its place has scrolled
  } catch (err) {
    console.error(err);
    if (!shown || shown.view.broken) return;
    shown.end.abort();
    const { title } = shown.view;
    shown.view = { title, broken: true, open: async () => {}, draw: () => html`<h1>${title}</h1>
      <p class="bad" role="alert">What is here cannot be shown: ${String(err)}. The other views work; a terminal shows it too.</p>` };
    page.changed();
  }
}

function draw() {
  if (!me) return door();
  const n = waiting.open().length;
  document.title = `${n ? `(${n}) ` : ''}${shown ? `${shown.view.title} · ` : ''}Grapnel`;
  return html`
    <a class="skip" href="#main" @click=${skip}>Skip to the content</a>
    <header>
      <a class="brand" href="#/">Grapnel</a>
      <button class="menu" aria-expanded=${menu} aria-controls="views" @click=${() => { menu = !menu; page.changed(); }}>Menu${badge(n)}</button>
      <nav id="views" aria-label="Views" class=${menu ? 'open' : ''} @keydown=${closeMenu}>
        ${views.filter((v) => !v.hidden).map((v) => html`<a href="#/${v.name}" aria-current=${v.name === shown?.name ? 'page' : nothing}>${v.label}${
          v.name === 'people' ? badge(n) : nothing}</a>`)}
      </nav>
      <span class="who">${me.name ?? 'you'} <button @click=${() => leaving()?.showModal()}>Leave</button></span>
    </header>
    <main id="main" tabindex="-1">${missing ? notThere() : shown?.view.draw()}</main>
    ${news()}
    <dialog id="leaving" aria-labelledby="leaving-title">
      <h2 id="leaving-title">End this session?</h2>
      <p>It ends in all windows of this browser. To come back takes a token, or a new link of <code>grapnel token link</code>.</p>
      <p class="actions"><button class="danger" @click=${out}>End the session</button> <button @click=${() => leaving()?.close()}>Stay</button></p>
    </dialog>`;
}

const leaving = () => /** @type {HTMLDialogElement | null} */ (document.getElementById('leaving'));

/** The line at the end of the page: what is wrong, or what has just happened. It is always there, so that a line moves nothing. */
const news = () => html`<footer>
  <div role="status" aria-live="polite" class=${error && !waiting.lost ? 'aside' : nothing}>${waiting.lost ? html`<span class="bad">${waiting.lost} · trying again …</span>` : said}</div>
  ${complaint()}</footer>`;

/** @param {number} n */
const badge = (n) => (n ? html` <b class="badge">${n}<span class="aside"> waiting</span></b>` : nothing);

/** @param {KeyboardEvent} e */
function closeMenu(e) {
  if (e.key !== 'Escape' || !menu) return;
  menu = false;
  page.changed();
  /** @type {HTMLElement | null} */ (root.querySelector('button.menu'))?.focus();
}

/** @param {Event} e */
function skip(e) {
  e.preventDefault();
  document.getElementById('main')?.focus();
}

const complaint = () => error
  ? html`<div class="error" role="alert">${error} <button @click=${() => { error = ''; page.changed(); }}>Close</button></div>` : nothing;

/** What somebody sees whom the daemon does not know. */
function door() {
  return html`<main id="main" class="door">
    <h1>Grapnel</h1>
    <p>Use the link that <code>grapnel token link</code> prints, or a token of <code>grapnel token create</code>:</p>
    <form @submit=${enterByToken}>
      <label>Token <input name="token" type="password" autocomplete="off" required></label>
      <button>Enter</button>
    </form>
    ${complaint()}</main>`;
}

/** @param {SubmitEvent} e */
async function enterByToken(e) {
  e.preventDefault();
  useToken(String(new FormData(/** @type {HTMLFormElement} */ (e.target)).get('token')).trim());
  const why = await enter();
  if (!why) return;
  if (!me) useToken('');
  page.failed(unknown(why) ? new Failure(401, 'unauthorized', 'the daemon does not know this token') : why);
}

/** Leaves, once the daemon has ended the session: before that, whoever opens the page in this browser would be here. */
async function out() {
  leaving()?.close();
  try {
    await del('/v1/session');
    leave();
  } catch (err) {
    error = `The session has not ended: ${err instanceof Error ? err.message : err}`;
  }
  page.changed();
}

addEventListener('hashchange', move);
page.changed();
const link = followed();
enter().then((why) => {
  if (why && link === 'used') page.failed(new Failure(403, 'forbidden', 'This link was used already, or is too old: make another one.'));
  else if (why && !unknown(why)) page.failed(why);
});
