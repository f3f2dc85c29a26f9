import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { databaseIdentity, readSetting, writeSetting } from './instance.store.ts';

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
