// Closes the months of an installation in a process of its own, to be killed: argv has the configuration, the data folder, the time, and
// the transaction in which it says so and stops, with all of it written and nothing committed.
import { closeMonths } from '../../src/features/billing/close-months.ts';
import { closeStore, openStore } from '../../src/open-store.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { createLog } from '../../src/platform/log/index.ts';

const [config, dataDir = '', at, last] = process.argv.slice(2);
const store = await openStore({
  config: JSON.parse(config ?? '') as Config,
  dataDir,
  clock: { now: () => Number(at), steady: () => 0, timer: () => () => undefined },
  log: createLog({ level: 'silent', format: 'json' }),
});
let left = Number(last);
const { tx } = store.db;
store.db.tx = (work) =>
  tx(async (inner) => {
    const done = await work(inner);
    if (--left > 0) return done;
    console.log('stopped');
    return new Promise(() => setInterval(() => undefined, 2 ** 30));
  });
await closeMonths(store);
await closeStore(store);
