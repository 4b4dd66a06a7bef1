// Prints the path of the browser, which it unpacks if that was not done before.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.PACKAGES, 'x'));
console.log(await require('@sparticuz/chromium').default.executablePath());
