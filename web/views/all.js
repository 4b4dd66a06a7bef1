// The views, in the order in which the page names them.

import Agents from './agents.js';
import Audit from './audit.js';
import Call from './call.js';
import Compare from './compare.js';
import Conversations from './conversations.js';
import Health from './health.js';
import Jobs from './jobs.js';
import Memories from './memories.js';
import Models from './models.js';
import Nodes from './nodes.js';
import People from './people.js';
import Plan from './plan.js';
import Schedules from './schedules.js';
import Servers from './servers.js';
import Turn from './turn.js';

/** @type {{ name: string, label: string, hidden?: boolean, View: new (page: import('../app.js').Page, ...parts: string[]) => import('../app.js').View }[]} */
export const views = [
  { name: 'conversations', label: 'Conversations', View: Conversations },
  { name: 'people', label: 'Waiting', View: People },
  { name: 'plan', label: 'Plan', View: Plan },
  { name: 'compare', label: 'Compare', View: Compare },
  { name: 'turn', label: 'Turn', View: Turn, hidden: true },
  { name: 'call', label: 'Call', View: Call, hidden: true },
  { name: 'agents', label: 'Agents', View: Agents },
  { name: 'models', label: 'Models', View: Models },
  { name: 'memories', label: 'Memories', View: Memories },
  { name: 'servers', label: 'Servers', View: Servers },
  { name: 'schedules', label: 'Schedules', View: Schedules },
  { name: 'jobs', label: 'Jobs', View: Jobs },
  { name: 'nodes', label: 'Nodes', View: Nodes },
  { name: 'audit', label: 'Audit', View: Audit },
  { name: 'health', label: 'Health', View: Health },
];
