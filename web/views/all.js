// The views, in the order in which the page names them.

import Health from './health.js';
import Jobs from './jobs.js';
import Memories from './memories.js';
import Nodes from './nodes.js';
import Schedules from './schedules.js';
import Servers from './servers.js';

/** @type {{ name: string, label: string, View: new (page: import('../app.js').Page, ...parts: string[]) => import('../app.js').View }[]} */
export const views = [
  { name: 'health', label: 'Health', View: Health },
  { name: 'servers', label: 'Servers', View: Servers },
  { name: 'memories', label: 'Memories', View: Memories },
  { name: 'schedules', label: 'Schedules', View: Schedules },
  { name: 'jobs', label: 'Jobs', View: Jobs },
  { name: 'nodes', label: 'Nodes', View: Nodes },
];
