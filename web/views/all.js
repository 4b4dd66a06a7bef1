// The views, in the order in which the page names them.

import Health from './health.js';
import Agents from './agents.js';
import Models from './models.js';
import Audit from './audit.js';

/** @type {{ name: string, label: string, View: new (page: import('../app.js').Page, ...parts: string[]) => import('../app.js').View }[]} */
export const views = [
  { name: 'health', label: 'Health', View: Health },
  { name: 'agents', label: 'Agents', View: Agents },
  { name: 'models', label: 'Models', View: Models },
  { name: 'audit', label: 'Audit', View: Audit },
];
