// The views, in the order in which the page names them.

import Call from './call.js';
import Compare from './compare.js';
import Health from './health.js';
import Agents from './agents.js';
import Models from './models.js';
import Audit from './audit.js';
import Plan from './plan.js';
import Turn from './turn.js';

/** @type {{ name: string, label: string, hidden?: boolean, View: new (page: import('../app.js').Page, ...parts: string[]) => import('../app.js').View }[]} */
export const views = [
  { name: 'plan', label: 'Plan', View: Plan },
  { name: 'compare', label: 'Compare', View: Compare },
  { name: 'turn', label: 'Turn', View: Turn, hidden: true },
  { name: 'call', label: 'Call', View: Call, hidden: true },
  { name: 'health', label: 'Health', View: Health },
  { name: 'agents', label: 'Agents', View: Agents },
  { name: 'models', label: 'Models', View: Models },
  { name: 'audit', label: 'Audit', View: Audit },
];
