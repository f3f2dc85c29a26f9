import { isLockTimeout, openDb, openPgPresence } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { fenceMoved, noteLeaving, noteMoved, stayHere, type MoveMark } from '../../../tenancy/instance/index.ts';
import { CONNECTION, MoveRefused, type MoveEnd } from './ends.ts';

export interface Leaving {
  /** Does the rest of the move; where that fails, the source takes writes again. */
  orStay<T>(rest: () => Promise<T>): Promise<T>;
  /** Says of the source that it was moved: it is not written to any more. */
  giveUp(): Promise<void>;
}

export interface SourceLeft {
  from: MoveEnd;
  to: MoveEnd;
  installation: string;
  /** It says already that it was moved: a move that was interrupted behind that goes on. */
  isMoved: boolean;
  isUnchanged: () => Promise<boolean>;
}

/**
 * From here on the source refuses every write: a node that was cut off or suspended, and comes back while the move is under
 * way or behind it, cannot accept mail that would never be sent, nor send what the target sends.
 */
export async function leaveSource(
  { clock, config }: Pick<Store, 'clock' | 'config'>,
  { from, to, installation, isMoved, isUnchanged }: SourceLeft,
): Promise<Leaving> {
  const mark = { state: 'leaving' as const, installation, other: to.says, at: clock.now() } satisfies MoveMark;
  const onSource = async <T>(work: (db: Awaited<ReturnType<typeof openDb>>) => Promise<T>): Promise<T> => {
    const db = await openDb(from.options);
    try {
      return await work(db);
    } finally {
      await db.close();
    }
  };
  const wasChanged = (): MoveRefused =>
    new MoveRefused(`${from.says} was changed while it was copied; stop whatever writes to it and begin again`);
  async function mustBeUnchanged(): Promise<void> {
    if (!(await isUnchanged())) throw wasChanged();
  }
  const end = await showMove(from, config);
  await onSource((db) => (isMoved ? fenceMoved(db) : noteLeaving(db, mark, mustBeUnchanged))).catch(
    async (error: unknown) => {
      await end();
      throw isLockTimeout(error)
        ? new MoveRefused(
            `a node or a command is writing to ${from.says}; stop all nodes and commands first, and begin again`,
          )
        : error;
    },
  );
  return {
    async orStay(rest) {
      try {
        return await rest();
      } catch (error) {
        // A kill does as much: the next start on the source does it then.
        await onSource(stayHere).catch(() => undefined);
        throw error;
      } finally {
        await end();
      }
    },
    async giveUp() {
      if (!isMoved && !(await onSource((db) => noteMoved(db, mark, clock.now())))) throw wasChanged();
    },
  };
}

/** By this nodes know that the fence is that of a command that runs, and wait; without it they take the fence off. */
async function showMove({ options }: MoveEnd, { database }: Store['config']): Promise<() => Promise<void>> {
  if (options.driver !== 'pg') return async () => undefined;
  return openPgPresence(database.listen_url || options.url, CONNECTION);
}
