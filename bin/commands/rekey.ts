import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { SEALED_COLUMNS } from '../../src/sealed-columns.ts';
import { lockDataFolder } from '../../src/platform/db/index.ts';
import {
  instanceKeyPath,
  newInstanceKey,
  readInstanceKeys,
  writeInstanceKeys,
} from '../../src/platform/secrets/index.ts';
import type { Store } from '../../src/platform/store.ts';
import { sealAnew, type SealedAnew } from '../../src/tenancy/instance/index.ts';
import { OperatorFault } from '../explain.ts';
import { dataFolder, onSameFolder, readConfig, withStore, type CommandAudit, type DataOptions } from './open.ts';

/**
 * Replaces the instance key in steps that can each be killed and repeated: `instance.key` and the database record the
 * progress. The former keys stay in the file for what they signed, until they are forgotten.
 */
export async function rekey(options: DataOptions & { forgetFormer?: boolean }): Promise<void> {
  const again = await onSameFolder('rasket rekey', options);
  const work = (store: Store): Promise<string> => (options.forgetFormer ? forgetFormer : replaceKey)(store, again);
  const action = options.forgetFormer ? 'instance.former_keys_forgotten' : 'instance.rekeyed';
  const audit: CommandAudit = { action, always: true };
  console.log(await withStore(readConfig(options), dataFolder(options), work, { audit }));
}

async function replaceKey(store: Store, again: string): Promise<string> {
  const { dataDir, db } = store;
  const { current, next, former } = readInstanceKeys(dataDir);
  if (next === undefined) {
    // With former keys in the file, the previous call may have been killed in the middle.
    const resumed = former.length > 0 ? await sealAnew(store, SEALED_COLUMNS) : undefined;
    if (resumed && resumed.sealed > 0) return formatResult(store, again, resumed);
    if (db.dialect === 'pg') {
      writeInstanceKeys(dataDir, { current, next: newInstanceKey(), former });
      return `${instanceKeyPath(dataDir)} contains a new key in addition to the current one. Copy the file into the data folder of every other node, then run this again here: ${again}`;
    }
  }
  writeInstanceKeys(dataDir, { current: next ?? newInstanceKey(), former: [current, ...former] });
  return formatResult(store, again, await sealAnew(store, SEALED_COLUMNS));
}

function formatResult({ dataDir }: Store, again: string, { sealed, unreadable }: SealedAnew): string {
  const lost =
    unreadable === 0 ? '' : ` ${unreadable} values could not be decrypted with any key and were not changed.`;
  return `The new key is in use; ${sealed} values were encrypted again.${lost} Back up ${instanceKeyPath(dataDir)}. The old key is kept for tracked links in mail that was sent; remove it with: ${again} --forget-former`;
}

/** A process with such a key in memory would continue to sign with it. */
async function forgetFormer(store: Store, again: string): Promise<string> {
  const { dataDir, db } = store;
  mkdirSync(path.join(dataDir, 'run'), { recursive: true, mode: 0o700 });
  const release = db.dialect === 'sqlite' ? lockDataFolder(dataDir) : () => undefined;
  try {
    const { current, next } = readInstanceKeys(dataDir);
    if (next !== undefined) {
      throw new OperatorFault(`instance.key contains a new key that is not in use yet; first run: ${again}`);
    }
    await sealAnew(store, SEALED_COLUMNS);
    writeInstanceKeys(dataDir, { current, former: [] });
  } finally {
    release();
  }
  return `${instanceKeyPath(dataDir)} contains one key. Tracked links in mail that was sent before this key no longer work.`;
}
