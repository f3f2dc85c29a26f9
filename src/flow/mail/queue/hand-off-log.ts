import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { hostMarks, isOfThisBoot, type ProcessMarks } from '../../../platform/process-mark/index.ts';

/**
 * A file of fixed slots that notes, per delivery, that its final dot is about to be written.
 *
 * The ledger in the database is synced before the dot, but a group's sync takes a while: a process killed inside it
 * would leave a whole group in doubt that was never sent. So the dot is preceded by one more write, of its own and not
 * synced, in the same tick. A killed process loses nothing that it wrote to a file, so after a kill the slots tell
 * exactly which dots were about to be written; only after a crash of the machine is the ledger all there is.
 */
export interface HandOffLog {
  /** The lease owner in queue, ledger and settle as well, by which recovery joins this file and the rows. */
  readonly owner: string;
  mark(deliveryId: string): void;
  clear(deliveryId: string): void;
  close(): void;
}

const UUID_CHARS = 36;
const SLOT_BYTES = UUID_CHARS + 1;
const NAME = /^hand-off-([0-9a-f-]{36})\.slots$/;

export function openHandOffLog(runDir: string, owner: string, marks: ProcessMarks = hostMarks()): HandOffLog {
  const file = path.join(runDir, `hand-off-${owner}.slots`);
  const handle = openSync(file, 'wx', 0o600);
  const buffer = Buffer.alloc(SLOT_BYTES, '\n');
  const slotOf = new Map<string, number>();
  const free: number[] = [];
  let slots = HEADER_SLOTS;
  const write = (slot: number, text: string): void => {
    buffer.write(text.slice(0, UUID_CHARS).padEnd(UUID_CHARS), 0, UUID_CHARS, 'latin1');
    // A disk that runs full takes a part of it, and says so by nothing else.
    if (writeSync(handle, buffer, 0, SLOT_BYTES, slot * SLOT_BYTES) < SLOT_BYTES)
      throw Object.assign(new Error(`${file} takes no whole entry; its disk is full`), { code: 'ENOSPC' });
  };
  writer(marks).forEach((text, slot) => write(slot, text));
  return {
    owner,
    mark(deliveryId) {
      const slot = free.pop() ?? slots++;
      try {
        write(slot, deliveryId);
      } catch (error) {
        free.push(slot);
        throw error;
      }
      slotOf.set(deliveryId, slot);
    },
    // The slot is wiped: a deferred delivery comes back under the same id, and is then before its dot again.
    clear(deliveryId) {
      const slot = slotOf.get(deliveryId);
      if (slot === undefined) return;
      write(slot, '');
      slotOf.delete(deliveryId);
      free.push(slot);
    },
    close() {
      closeSync(handle);
      rmSync(file, { force: true });
    },
  };
}

export interface LeftLog {
  owner: string;
  /** The deliveries whose dot may have been written; undefined when the machine went down since. */
  marked: Set<string> | undefined;
  remove(): void;
}

/**
 * The logs of processes that ended without closing theirs. With `isAlone` no other process uses this folder; otherwise a log
 * counts as left only when its writer is known to have ended, because the process of another node may be alive.
 */
export function leftHandOffLogs(
  runDir: string,
  { isAlone, marks = hostMarks() }: { isAlone: boolean; marks?: ProcessMarks | undefined },
): LeftLog[] {
  return readdirSync(runDir).flatMap((name) => {
    const owner = NAME.exec(name)?.[1];
    if (owner === undefined) return [];
    const file = path.join(runDir, name);
    const slots = slotsIn(readFileSync(file, 'latin1'));
    const [boot = '', process = '', host = ''] = slots;
    const mark = { boot, process, host };
    if (!isAlone && marks.mayBeAlive(mark)) return [];
    const marked = isOfThisBoot(mark) ? new Set(slots.slice(HEADER_SLOTS).filter((id) => id !== '')) : undefined;
    return [{ owner, marked, remove: () => rmSync(file, { force: true }) }];
  });
}

const HEADER_SLOTS = 3;

/** By their places: what was cut short or left out hides none of the others. */
const slotsIn = (content: string): string[] =>
  Array.from({ length: Math.ceil(content.length / SLOT_BYTES) }, (_, slot) =>
    content.slice(slot * SLOT_BYTES, slot * SLOT_BYTES + UUID_CHARS).trim(),
  );

/** Identifies the writer of the log: the boot of the machine, the process, and the node. */
function writer({ own }: ProcessMarks): string[] {
  const { boot, process, host } = own;
  return [boot, process, host];
}
