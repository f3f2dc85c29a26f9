import { existsSync } from 'node:fs';
import path from 'node:path';
import { closeStore, connectAsFound } from '../../src/open-store.ts';
import { copyAllBlobs, openBlobs, type Blobs } from '../../src/platform/blobs/index.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { lockDataFolder } from '../../src/platform/db/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import type { Store } from '../../src/platform/store.ts';
import { liveNodes, keysInRows, namedContents } from '../../src/features/installation/index.ts';
import { loadInstallationId, noteBlobsMove, readBlobsMove } from '../../src/tenancy/instance/index.ts';
import { OperatorFault } from '../explain.ts';
import { becomeFolderOwner } from '../installation.ts';
import { dataFolder, mustBeInitialised, readConfig, withStore, type CommandAudit, type DataOptions } from './open.ts';

export interface MoveOptions extends DataOptions {
  to: string;
  json?: boolean;
}

type StoreName = Config['blobs']['store'];

/** Moves all content to the other store while nothing runs. After a kill, another call continues where it stopped. */
export async function moveBlobs(options: MoveOptions): Promise<void> {
  const { to } = options;
  if (to !== 's3' && to !== 'files')
    throw new OperatorFault(`--to must be s3 or files; got ${JSON.stringify(to)}`, 'usage');
  const given = readConfig(options);
  mustNameStore(given.blobs);
  const audit: CommandAudit = { action: 'storage.moved', always: true, details: { to } };
  const from = to === 's3' ? 'files' : 's3';
  const source = withBlobs(given, from);
  const target = withBlobs(given, to);
  const dataDir = dataFolder(options);
  if (await endEarlierMove({ source, target }, dataDir, options)) return;
  const work = (store: Store): Promise<void> => move(store, target, { ...options, from, to });
  await withStore(source, dataDir, work, { audit });
}

/**
 * Finishes a move that was killed after the commit that decides: only the mark of the previous store is left to remove.
 */
async function endEarlierMove(
  { source, target }: { source: Config; target: Config },
  dataDir: string,
  { to, json }: MoveOptions,
): Promise<boolean> {
  becomeFolderOwner(dataDir);
  mustBeInitialised(dataDir);
  const isMoved = await onDatabase(source, dataDir, async ({ db }) => {
    const before = await readBlobsMove(db);
    return before?.state === 'moved' && before.to === to;
  });
  if (!isMoved) return false;
  await withStore(target, dataDir, async (store) => {
    const id = await loadInstallationId(store);
    const left = openBlobs(source.blobs, { dataDir, now: () => store.clock.now(), random: store.random });
    try {
      if ((await left.readMark()) === id) await left.removeMark();
      if (json)
        console.log(
          JSON.stringify({ from: left.place, to: store.blobs.place, copied: 0, found: 0, bytes: 0, missing: 0 }),
        );
      else
        console.log(`This was done already: ${store.blobs.place} contains all content. You can remove ${left.place}.`);
    } finally {
      await left.close();
    }
  });
  return true;
}

/**
 * Opens the database whatever the mark of its blobs says. Returns false for an SQLite file that is missing; opening it
 * as a store refuses it later.
 */
async function onDatabase<T>(config: Config, dataDir: string, work: (store: Store) => Promise<T>): Promise<T | false> {
  const file = path.resolve(dataDir, config.database.path);
  if (config.database.driver !== 'pg' && !existsSync(file)) return false;
  const store = await connectAsFound({ config, dataDir, log: createLog({ level: 'error', format: 'pretty' }) });
  try {
    return await work(store);
  } finally {
    await closeStore(store);
  }
}

const withBlobs = (config: Config, store: StoreName): Config => ({ ...config, blobs: { ...config.blobs, store } });

/** Checks the settings of the store even while they still say "files", because nothing else checks them then. */
function mustNameStore({ endpoint, bucket, access_key, secret_key, secret_key_file }: Config['blobs']): void {
  const secret = secret_key || secret_key_file;
  const missing = Object.entries({ endpoint, bucket, access_key, secret_key: secret })
    .filter(([, value]) => value === '')
    .map(([name]) => `blobs.${name}`);
  if (missing.length === 0) return;
  throw new OperatorFault(`the settings do not define the store: ${missing.join(', ')} must be set`);
}

async function move(
  store: Store,
  { blobs: settings }: Config,
  { json, from, to }: Pick<MoveOptions, 'json'> & { from: StoreName; to: StoreName },
): Promise<void> {
  const { clock, dataDir, db, random } = store;
  const release = db.dialect === 'sqlite' ? lockDataFolder(dataDir) : undefined;
  const target = openBlobs(settings, { dataDir, now: () => clock.now(), random });
  try {
    await mustBeAlone(store);
    const id = await loadInstallationId(store);
    await mustBeOurs(target, id);
    await noteBlobsMove(store, { state: 'copying', from, to });
    const sum = await copyAllBlobs(store.blobs, target, namedKeys(db));
    if ((await target.writeMark(id)) !== id) throw otherInstallation(target);
    // From here on a start with the previous settings is refused, and no mail is stored where no node looks for it.
    await noteBlobsMove(store, { state: 'moved', from, to });
    await store.blobs.removeMark();
    if (json) return console.log(JSON.stringify({ from: store.blobs.place, to: target.place, ...sum }));
    console.log(
      `${target.place} contains all content: ${sum.copied} copied, ${sum.found} already there, ${sum.bytes} bytes, all compared.`,
    );
    if (sum.missing > 0)
      console.log(`${sum.missing} contents in the database were already missing in ${store.blobs.place}.`);
    console.log(
      `Set blobs.store to "${settings.store}" on every node, then start the nodes. You can remove ${store.blobs.place}.`,
    );
  } finally {
    await target.close();
    release?.();
  }
}

/** Yields the keys that rows refer to but that are not rows themselves. */
async function* namedKeys(db: Store['db']): AsyncGenerator<string[]> {
  for await (const { named } of namedContents(db)) {
    const inRows = await keysInRows(db, [...new Set(named.map(({ owner }) => owner))]);
    yield named.map(({ owner, name }) => `${owner}/${name}`).filter((key) => !inRows.has(key));
  }
}

async function mustBeAlone(store: Store): Promise<void> {
  if (store.db.dialect === 'sqlite') return;
  const [node] = await liveNodes(store);
  if (!node) return;
  throw new OperatorFault(
    `${node.name} is running on this database; stop all nodes first: a node that was killed expires after two minutes`,
  );
}

async function mustBeOurs(target: Blobs, id: string): Promise<void> {
  const found = await target.readMark();
  if (found !== undefined && found !== id) throw otherInstallation(target);
}

const otherInstallation = ({ place }: Blobs): OperatorFault =>
  new OperatorFault(`${place} belongs to another installation; nothing was changed`);
