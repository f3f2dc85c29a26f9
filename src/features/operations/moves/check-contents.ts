import { createHash } from 'node:crypto';
import type { Store } from '../../../platform/store/index.ts';
import { filesOfOwners } from '../../../mail/contents/index.ts';
import { keysInRows, namedContents } from './named-contents.store.ts';

export interface ContentsCheck {
  /** How many contents rows name, and how many of them are files. */
  named: number;
  files: number;
  /** The first of those that are not there, or not as their row says. */
  faults: string[];
  missing: number;
}

const TOLD_MAX = 20;

/** Every row that names a content finds it, where it stands: files stay where they are and are not copied. */
export async function checkContents(store: Pick<Store, 'db' | 'blobs'>): Promise<ContentsCheck> {
  const check: ContentsCheck = { named: 0, files: 0, faults: [], missing: 0 };
  for await (const { table, named } of namedContents(store.db)) {
    check.named += named.length;
    const owners = [...new Set(named.map(({ owner }) => owner))];
    const inRows = await keysInRows(store.db, owners);
    const files = await filesOfOwners(store.db, owners);
    const hashes = new Map(files.map(({ owner_id: owner, name, sha256 }) => [`${owner}/${name}`, sha256]));
    for (const content of named) {
      const key = `${content.owner}/${content.name}`;
      // The rows themselves were compared one by one.
      if (inRows.has(key)) continue;
      check.files++;
      const fault = await faultOfFile(store, content.sha256 ?? hashes.get(key) ?? null, key);
      if (fault === undefined) continue;
      check.missing++;
      if (check.faults.length < TOLD_MAX) check.faults.push(`${table} ${content.id}: the content ${key} ${fault}`);
    }
  }
  return check;
}

async function faultOfFile(
  { blobs }: Pick<Store, 'blobs'>,
  sha256: string | null,
  key: string,
): Promise<string | undefined> {
  const found = await blobs.open(key);
  if (!found) return 'is missing';
  const hash = createHash('sha256');
  try {
    // Read as a whole: a disk that cannot is found now.
    for await (const piece of found.content as AsyncIterable<Buffer>) hash.update(piece);
  } catch (error) {
    return `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`;
  }
  return sha256 !== null && hash.digest('hex') !== sha256 ? 'has another hash than its row says' : undefined;
}
