import { hasTable, type Db } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { InstallationMismatch } from './installation-mismatch.ts';
import { readSetting, writeSetting } from './instance.store.ts';
import { forgetWitness } from './shared-folder.ts';

type PlaceOfBlobs = Store['config']['blobs']['store'];

/** The last move of all blobs from one place to the other. */
export interface BlobsMove {
  /** `copying`: they are in force where they were. `moved`: they are where they were taken to, and nowhere else. */
  state: 'copying' | 'moved';
  from: PlaceOfBlobs;
  to: PlaceOfBlobs;
}

const SETTING = 'blobs_move';

/** Also of a database that is not migrated yet. */
export const readBlobsMove = async (db: Db): Promise<BlobsMove | undefined> =>
  (await hasTable(db, 'instance_settings')) ? readSetting<BlobsMove>(db, SETTING) : undefined;

/** One commit decides which place is in force: a kill before it leaves the one of before, a kill behind it the other one. */
export const noteBlobsMove = ({ db, clock }: Pick<Store, 'db' | 'clock'>, move: BlobsMove): Promise<void> =>
  db.tx(async (tx) => {
    await writeSetting(tx, SETTING, move, clock.now());
    if (move.state === 'moved') await forgetWitness(tx);
  });

/** Also where the store is away and its mark cannot be read: whatever was stored at the wrong place would be looked for in vain. */
export async function mustHaveBlobsHere({ db, config }: Pick<Store, 'db' | 'config'>): Promise<void> {
  const move = await readBlobsMove(db);
  if (!move) return;
  const { state, from, to } = move;
  const here = config.blobs.store;
  if (state === 'moved' && here === from)
    throw new InstallationMismatch(
      `the blobs of this installation were moved to "${to}"; set blobs.store to that, or bring them back with: rasket blobs move --to ${from}`,
    );
  if (state === 'copying' && here === to)
    throw new InstallationMismatch(
      `the blobs of this installation were not moved to "${to}" to the end; call again: rasket blobs move --to ${to}. Until then they are in force where they were: blobs.store = "${from}"`,
    );
}
