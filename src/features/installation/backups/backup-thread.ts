/** Makes one backup and reads it again, on its own connections; may be terminated at any time (`take-backup.ts`). */
import path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../platform/clock.ts';
import { openDb } from '../../../platform/db/index.ts';
import { removeHalfMade } from './backup-folder.ts';
import { makeBackup } from './make-backup.ts';
import type { ThreadAnswer, ThreadOrder } from './take-backup.ts';
import { verifyBackup } from './verify-backup.ts';

const order = workerData as ThreadOrder;
const { database, dataDir, contentIn, programs, named, folder, part, madeAt, reason, sealed, mark } = order;
const stopping = new AbortController();
/** Time that pg_dump gets to stop, which it does at once; copying and reading can be interrupted at any point. */
const STOP_MS = 2000;
parentPort?.once('message', () => {
  stopping.abort();
  systemClock.timer(STOP_MS, () => process.exit(1));
});
const file = path.resolve(dataDir, database.path);
const db = await openDb({ driver: database.driver, url: database.url, file, poolMax: 1 });
const facts = await makeBackup(
  { config: { database }, dataDir, db, contentIn, programs, named },
  {
    folder,
    part,
    madeAt,
    reason,
    signal: stopping.signal,
    clear: () => removeHalfMade(path.dirname(folder), mark),
  },
);
await db.close();
const verification = await verifyBackup(folder, { sealed, programs, now: () => madeAt, signal: stopping.signal });
parentPort?.postMessage({ facts, verification } satisfies ThreadAnswer);
