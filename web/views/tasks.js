// What an agent has planned for a conversation: its plan, and its tasks with how far they are.

import { html, nothing } from '../dom.js';
import { markdown } from '../text.js';

/** @typedef {import('../api.js').Schemas} Schemas */

const states = { pending: 'to do', in_progress: 'now', completed: 'done' };
const most = 100;

// The plan as nodes, made once for each answer of the daemon.
/** @type {WeakMap<Schemas['Tasks'], Node>} */
const plans = new WeakMap();

/** @param {{ tasks?: Schemas['Tasks'] | undefined }} view with the answer of GET /v1/conversations/{id}/tasks, if it has one */
export function tasks({ tasks: t }) {
  if (!t || (!t.plan && !t.todos.length)) return nothing;
  const done = t.todos.filter((x) => x.status === 'completed').length;
  if (t.plan && !plans.has(t)) plans.set(t, markdown(t.plan));
  return html`<details class="card tasks">
    <summary>${t.todos.length ? `Tasks: ${done} of ${t.todos.length} done` : 'Plan'}</summary>
    ${t.todos.length ? html`<ol>${t.todos.slice(0, most).map((x) => html`<li class=${x.status}>
      <span class="state">${states[x.status]}</span> <bdi>${x.status === 'in_progress' ? x.active_form || x.content : x.content}</bdi></li>`)}</ol>` : nothing}
    ${t.todos.length > most ? html`<p class="quiet">and ${t.todos.length - most} more</p>` : nothing}
    ${t.plan ? html`<h3>Plan</h3>${plans.get(t)}` : nothing}</details>`;
}
