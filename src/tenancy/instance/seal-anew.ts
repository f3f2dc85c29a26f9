import type { SealedColumn } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { replaceSealed, sealedByOthers } from './instance.store.ts';
import { sealIdAnew } from './installation.ts';

const BATCH = 200;

export interface SealedAnew {
  sealed: number;
  /** What no key of the file opens: damaged, or sealed with a key that is lost. */
  unreadable: number;
}

/**
 * Seals everything with the key in force that another one has sealed, or the format of before. May be killed at any
 * moment and begun again, beside servers that go on: a value that is changed meanwhile is not overwritten.
 */
export async function sealAnew(store: Store, columns: readonly SealedColumn[]): Promise<SealedAnew> {
  // First: a process that meets it knows from it which key is in force.
  const total: SealedAnew = { sealed: (await sealIdAnew(store)) ? 1 : 0, unreadable: 0 };
  for (let isChanging = true; isChanging;) {
    isChanging = false;
    total.unreadable = 0;
    for (const column of columns) {
      const { sealed, unreadable } = await sealColumnAnew(store, column);
      total.sealed += sealed;
      total.unreadable += unreadable;
      // What was written by the key before meanwhile is found by another pass.
      isChanging ||= sealed > 0;
    }
  }
  return total;
}

async function sealColumnAnew({ db, secrets }: Store, column: SealedColumn): Promise<SealedAnew> {
  const total: SealedAnew = { sealed: 0, unreadable: 0 };
  let after: string | undefined;
  for (;;) {
    const rows = await sealedByOthers(db, column, { keyId: secrets.currentKeyId(), after, limit: BATCH });
    const changes = rows.flatMap(({ id, sealed }) => {
      try {
        return [{ id, from: sealed, to: secrets.seal(secrets.open(sealed, column.purpose, id), column.purpose, id) }];
      } catch {
        total.unreadable++;
        return [];
      }
    });
    total.sealed += await replaceSealed(db, column, changes);
    after = rows.at(-1)?.id;
    if (rows.length < BATCH) return total;
  }
}
