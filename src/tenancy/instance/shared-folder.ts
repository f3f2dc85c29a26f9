import os from 'node:os';
import path from 'node:path';
import { isoTime } from '../../platform/clock/index.ts';
import { hasTable, type Executor } from '../../platform/db/index.ts';
import { hasWitness, removeOldWitnesses, writeWitness } from '../../platform/installation-mark/index.ts';
import { nodeIdOf } from '../../platform/process-mark/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { InstallationMismatch } from './installation-mismatch.ts';
import { addSetting, readSetting, removeSetting, replaceSetting } from './instance.store.ts';

/** A file in the folder of blobs, and the node that has put it there. */
interface Witness {
  name: string;
  node: string;
  host: string;
  at: number;
}

const SETTING = 'blobs_witness';

type Place = Pick<Store, 'config' | 'blobs'> & { db: Executor };

/**
 * Nodes that keep blobs as files share one folder, or content that one of them has stored is lost for the others. Each node that starts
 * puts a file of its own into it and says its name in the database, and every other one has to find that: a folder that only looks the
 * same has none.
 */
export async function mustFindWitness({ db, config, blobs }: Place): Promise<void> {
  if (db.dialect !== 'pg' || config.blobs.store !== 'files' || !(await hasTable(db, 'instance_settings'))) return;
  const last = await readSetting<Witness>(db, SETTING);
  if (last && !hasWitness(blobs.place, last.name)) throw notShared(blobs.place, last);
}

/** Asked once at the start of a node, before it stores anything. */
export async function leaveWitness(store: Pick<Store, 'config' | 'blobs' | 'db' | 'dataDir' | 'clock'>): Promise<void> {
  const { db, config, blobs, clock, dataDir } = store;
  if (db.dialect !== 'pg' || config.blobs.store !== 'files') return;
  const [node, host] = [nodeIdOf(dataDir), os.hostname()];
  let name: string | undefined;
  for (;;) {
    await mustFindWitness(store);
    const last = await readSetting<Witness>(db, SETTING);
    if (last?.node === node && last.host === host) return;
    // Before its name is known: a crash in between leaves a file that nobody asks for.
    name ??= writeWitness(blobs.place);
    const at = clock.now();
    const own = { name, node, host, at } satisfies Witness;
    const isSaid = last
      ? await replaceSetting(db, SETTING, { from: last, to: own, at })
      : await addSetting(db, SETTING, own, at);
    if (!isSaid) continue;
    removeOldWitnesses(blobs.place, name, at);
    return;
  }
}

/** Where all blobs were taken to another place. */
export const forgetWitness = (db: Executor): Promise<void> => removeSetting(db, SETTING);

const notShared = (place: string, { name, host, at }: Witness): InstallationMismatch =>
  new InstallationMismatch(
    `${place} is not the folder that the other nodes of this installation keep blobs in (blobs.store is "files"): the file ${name} is missing, which the node on ${host} put into its own (${isoTime(at)}). ` +
      `Mount that folder here, or take the blobs to a store that all nodes reach: rasket blobs move --to s3. If it was lost, or this is the right one, make the file, and the node goes on with what is here: touch ${path.join(place, name)}. Nothing was changed`,
  );
