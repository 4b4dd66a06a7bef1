// The views, in the order in which the page names them.

import Conversations from './conversations.js';
import Health from './health.js';
import People from './people.js';

/** @type {{ name: string, label: string, View: new (page: import('../app.js').Page, ...parts: string[]) => import('../app.js').View }[]} */
export const views = [
  { name: 'conversations', label: 'Conversations', View: Conversations },
  { name: 'people', label: 'Waiting', View: People },
  { name: 'health', label: 'Health', View: Health },
];
