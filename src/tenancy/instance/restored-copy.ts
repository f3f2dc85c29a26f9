import { overlaid, type Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import { databaseIdentity, readSetting, writeSetting } from './instance.store.ts';
import type { Blobs } from '../../platform/blobs/index.ts';
import { readCopyMark } from '../../platform/installation-mark/index.ts';
import { nodeIdOf } from '../../platform/process-mark/index.ts';
import { createSendSwitch } from './send-switch.ts';

/** Where an installation is at home: the database server that holds it, and the data folders that have run on it. */
interface Home {
  database: string;
  nodes: string[];
}

const SETTING = 'home';
const NODES_MAX = 200;

/**
 * Whether the database was restored elsewhere: another server has it now, and this node's folder never ran on it. A database that
 * was moved or upgraded under its nodes is no copy. SQLite's is one with its folder, and always at home.
 */
export async function isAway({ db }: Pick<Store, 'db'>, nodeId: string): Promise<boolean> {
  const home = await readSetting<Home>(db, SETTING);
  const database = await databaseIdentity(db);
  return home !== undefined && database !== home.database && !home.nodes.includes(nodeId);
}

/** From here on it is at home here. */
export async function settleHere(tx: Executor, { nodeId, at }: { nodeId: string; at: number }): Promise<void> {
  const home = await readSetting<Home>(tx, SETTING);
  const database = await databaseIdentity(tx);
  const nodes = [...(home?.nodes ?? []).filter((id) => id !== nodeId), nodeId].slice(-NODES_MAX);
  const isKnown = home?.database === database && home.nodes.includes(nodeId);
  if (!isKnown) await writeSetting(tx, SETTING, { database, nodes } satisfies Home, at);
}

type Copied = Pick<Store, 'db' | 'dataDir'>;

/** Whether this is a restored copy that is not confirmed yet, whose original may have the same place for its blobs. */
export function createCopyCheck({ db, dataDir }: Copied): () => Promise<boolean> {
  const sending = createSendSwitch({ db });
  return async () => readCopyMark(dataDir) !== undefined || (await sending()).isRestored === true;
}

/** Also before a server has started on it, for commands. */
export const isUnconfirmedCopy = async (store: Copied): Promise<boolean> =>
  (await createCopyCheck(store)()) || (await isAway(store, nodeIdOf(store.dataDir)));

/**
 * Blobs of which an unconfirmed copy removes nothing, whatever is deleted there: they are those of the original as well. What no row
 * names any more is left to the nightly sweep, which begins once the copy is confirmed.
 */
export function keptByCopies(blobs: Blobs, store: Copied): Blobs {
  const isCopy = createCopyCheck(store);
  return overlaid<Blobs>(blobs, {
    async remove(owner) {
      if (!(await isCopy())) await blobs.remove(owner);
    },
    async removeKeys(keys) {
      if (!(await isCopy())) await blobs.removeKeys(keys);
    },
  });
}
