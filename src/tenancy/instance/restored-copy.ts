import { overlaid, type Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import { databaseIdentity, readSetting, writeSetting } from './instance.store.ts';
import type { Blobs } from '../../platform/blobs/index.ts';
import { readCopyMark } from '../../platform/installation-mark/index.ts';
import { loadNodeId } from '../../platform/process-mark/index.ts';
import { createSendSwitch } from './send-switch.ts';

/** The home of an installation: the database server that holds it, and the nodes that have run on it. */
interface Home {
  database: string;
  nodes: string[];
}

const SETTING = 'home';
const NODES_MAX = 200;

/**
 * Reports whether the database was restored elsewhere: it is on another server, and this node has never run on it. A
 * database that was moved or upgraded under its nodes is no copy. An SQLite database is bound to its folder, and always
 * at home.
 */
export async function isAway({ db }: Pick<Store, 'db'>, nodeId: string): Promise<boolean> {
  const home = await readSetting<Home>(db, SETTING);
  const database = await databaseIdentity(db);
  return home !== undefined && database !== home.database && !home.nodes.includes(nodeId);
}

/** Records this server and node as the home of the installation. */
export async function settleHere(tx: Executor, { nodeId, at }: { nodeId: string; at: number }): Promise<void> {
  const home = await readSetting<Home>(tx, SETTING);
  const database = await databaseIdentity(tx);
  const nodes = [...(home?.nodes ?? []).filter((id) => id !== nodeId), nodeId].slice(-NODES_MAX);
  const isKnown = home?.database === database && home.nodes.includes(nodeId);
  if (!isKnown) await writeSetting(tx, SETTING, { database, nodes } satisfies Home, at);
}

type Copied = Pick<Store, 'db' | 'dataDir'>;

/**
 * Creates a check for a restored copy that is not confirmed yet, whose original may keep its blobs in the same place.
 */
export function createCopyCheck({ db, dataDir }: Copied): () => Promise<boolean> {
  const sending = createSendSwitch({ db });
  return async () => readCopyMark(dataDir) !== undefined || (await sending()).isRestored === true;
}

/** Reports the same for commands, even before a server has started on it. */
export const isUnconfirmedCopy = async (store: Copied): Promise<boolean> =>
  (await createCopyCheck(store)()) || (await isAway(store, loadNodeId(store.dataDir)));

/**
 * Wraps blobs so that an unconfirmed copy removes none, whatever is deleted there: they belong to the original as well.
 * The nightly sweep removes blobs that no row names any more, once the copy is confirmed.
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
