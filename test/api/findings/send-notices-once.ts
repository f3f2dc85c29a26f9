// A process that sends due notices, for a test that kills it; argv[2] is the configuration, argv[3] the data folder.
import { sendNotices } from '../../../src/features/installation/doctor/send-notices.ts';
import { closeWorld, openWorld } from '../../../src/open-world.ts';
import type { Config } from '../../../src/platform/config/index.ts';
import { createLog } from '../../../src/platform/log/index.ts';

const [, , config = '', dataDir = ''] = process.argv;
const world = await openWorld({
  config: JSON.parse(config) as Config,
  dataDir,
  log: createLog({ level: 'error', format: 'json' }),
});
await sendNotices(world);
await closeWorld(world);
