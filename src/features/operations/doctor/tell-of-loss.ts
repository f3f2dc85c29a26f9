import { createHash } from 'node:crypto';
import { open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from '../../../platform/clock/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { noticesAbout, type Finding, type Notice } from '../findings/index.ts';
import { tell } from './tell-notices.ts';

/** Before each further try; the process waits for them before it ends. */
const RETRY_MS = [1000, 4000];
const PREFIX = 'told-of-move-';

/**
 * Has the command and the URL of the settings told why the database of this node is out of use. The database takes no note of it any
 * more: files in the folder of this node keep that it was begun, so that no process of the node tells the same `event` a second time.
 */
export async function tellOfLoss(world: World, finding: Finding, event: string): Promise<void> {
  const { dataDir } = world;
  const folder = path.join(dataDir, 'run');
  const which = createHash('sha256').update(event).digest('hex').slice(0, 16);
  await forgetOthers(folder, which);
  await Promise.all(
    noticesAbout(world, [finding]).map(async (notice) => {
      if (await begin(folder, `${PREFIX}${which}-${notice.channel}`)) await tellInTime(world, notice);
    }),
  );
}

async function tellInTime(world: World, notice: Notice): Promise<void> {
  for (const waitMs of [...RETRY_MS, undefined]) {
    const fault = await tell(world, notice);
    if (fault === undefined) return;
    const next = waitMs === undefined ? 'never' : `in ${waitMs / 1000} s`;
    world.log.error({ channel: notice.channel, fault, next }, 'a notice of findings could not be told');
    if (waitMs !== undefined) await new Promise<void>((done) => void systemClock.timer(waitMs, done));
  }
}

/** False where another process has begun it, or this one before a crash. */
async function begin(folder: string, name: string): Promise<boolean> {
  try {
    const file = await open(path.join(folder, name), 'wx', 0o600);
    await file.sync().finally(() => file.close());
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
  const parent = await open(folder, 'r');
  await parent.sync().finally(() => parent.close());
  return true;
}

/** Of events before this one. */
async function forgetOthers(folder: string, which: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith(PREFIX) && !name.startsWith(`${PREFIX}${which}`))
      await rm(path.join(folder, name), { force: true });
}
