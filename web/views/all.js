// The views, in the order in which the page names them.

import Conversations from './conversations.js';
import Health from './health.js';

/** @type {{ name: string, label: string, View: new (page: import('../app.js').Page, ...parts: string[]) => import('../app.js').View }[]} */
export const views = [
  { name: 'conversations', label: 'Conversations', View: Conversations },
  { name: 'health', label: 'Health', View: Health },
];
