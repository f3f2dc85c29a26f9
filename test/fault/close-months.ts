// Closes the months of an installation in a process of its own, to be killed: argv has the configuration, the data folder and the time.
import { closeMonths } from '../../src/flow/billing/index.ts';
import { closeStore, openStore } from '../../src/open-store.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { createLog } from '../../src/platform/log/index.ts';

const [config, dataDir = '', at] = process.argv.slice(2);
const store = await openStore({
  config: JSON.parse(config ?? '') as Config,
  dataDir,
  clock: { now: () => Number(at), timer: () => () => undefined },
  log: createLog({ level: 'silent', format: 'json' }),
});
await closeMonths(store);
await closeStore(store);
