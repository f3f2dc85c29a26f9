import type { BlobDigest } from '../../src/platform/blobs/index.ts';
import type { Db, Executor } from '../../src/platform/db/index.ts';
import type { World } from '../../src/platform/world.ts';

export interface Breakable {
  /** Restarts the count: the n-th statement, blob or commit from now on fails; without a number none does. */
  failAt(n: number | undefined): void;
  steps(): number;
  brokenBlobs: string[];
}

/**
 * Makes the n-th statement or blob from now on fail; a commit counts as one, which fails before anything of it is
 * written. `isAnswerLost` adds one after each commit: all of it is written, and its caller gets the fault nevertheless.
 */
export function breakable(
  { db, blobs }: World,
  code: string | undefined,
  { isAnswerLost = false }: { isAnswerLost?: boolean } = {},
): Breakable {
  let at: number | undefined;
  let step = 0;
  const brokenBlobs: string[] = [];
  const next = (): void => {
    step++;
    if (step === at) throw Object.assign(new Error('planted fault'), code === undefined ? {} : { code });
  };
  const breaking = (on: Executor): Executor => ({
    dialect: on.dialect,
    all: async (...call) => (next(), on.all(...call)) as never,
    get: async (...call) => (next(), on.get(...call)) as never,
    run: async (...call) => (next(), on.run(...call)),
    runEach: async (...call) => (next(), on.runEach(...call)),
    insertMany: async (...call) => (next(), on.insertMany(...call)),
  });
  const { tx, txUnsynced } = db;
  const { putAll } = blobs;
  // Blobs are written one at a time, so that a fault finds those before it written and those after it not.
  blobs.putAll = async (files) => {
    const digests: BlobDigest[] = [];
    for (const file of files) {
      if (step + 1 === at) brokenBlobs.push(file.key.split('/')[1] ?? '');
      next();
      digests.push(...(await putAll([file])));
    }
    return digests;
  };
  blobs.put = async (key, content) => void (await blobs.putAll([{ key, content }]));
  const breakingTx =
    (transact: Db['tx']): Db['tx'] =>
    async (work) => {
      const answer = await transact(async (inner) => {
        const value = await work(breaking(inner));
        next();
        return value;
      });
      if (isAnswerLost) next();
      return answer;
    };
  Object.assign(db, breaking({ ...db }), { tx: breakingTx(tx), txUnsynced: breakingTx(txUnsynced) });
  return {
    failAt(n) {
      at = n;
      step = 0;
    },
    steps: () => step,
    brokenBlobs,
  };
}
