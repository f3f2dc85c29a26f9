import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';

/**
 * The last instant before a final dot, per delivery, in a file of fixed slots.
 *
 * The ledger in the database is synced before the dot, but a group's sync takes a while: a process killed inside it
 * would leave a whole group in doubt that was never sent. So the dot is preceded by one more write, of its own and not
 * synced, in the same tick. A killed process loses nothing that it wrote to a file, so after a kill the slots tell
 * exactly which dots were about to be written; only after a crash of the machine is the ledger all there is.
 */
export interface HandOffLog {
  readonly owner: string;
  mark(deliveryId: string): void;
  clear(deliveryId: string): void;
  close(): void;
}

const UUID_CHARS = 36;
const SLOT_BYTES = UUID_CHARS + 1;
const NAME = /^hand-off-([0-9a-f-]{36})\.slots$/;

export function openHandOffLog(runDir: string, owner: string): HandOffLog {
  const file = path.join(runDir, `hand-off-${owner}.slots`);
  const handle = openSync(file, 'wx', 0o600);
  const buffer = Buffer.alloc(SLOT_BYTES, '\n');
  const slotOf = new Map<string, number>();
  const free: number[] = [];
  let slots = 1;
  const write = (slot: number, text: string): void => {
    buffer.write(text.padEnd(UUID_CHARS), 0, UUID_CHARS, 'latin1');
    writeSync(handle, buffer, 0, SLOT_BYTES, slot * SLOT_BYTES);
  };
  write(0, bootId() ?? 'unknown');
  return {
    owner,
    mark(deliveryId) {
      const slot = free.pop() ?? slots++;
      slotOf.set(deliveryId, slot);
      write(slot, deliveryId);
    },
    // A slot need not be wiped: an id whose delivery is settled means nothing to anybody.
    clear(deliveryId) {
      const slot = slotOf.get(deliveryId);
      if (slot === undefined) return;
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

/** The logs of processes that did not close theirs. */
export function leftHandOffLogs(runDir: string): LeftLog[] {
  return readdirSync(runDir).flatMap((name) => {
    const owner = NAME.exec(name)?.[1];
    if (owner === undefined) return [];
    const file = path.join(runDir, name);
    const [boot, ...slots] = readFileSync(file, 'latin1').split('\n');
    const sameBoot = boot !== undefined && boot.trim() === bootId();
    const marked = sameBoot ? new Set(slots.map((slot) => slot.trim()).filter((id) => id !== '')) : undefined;
    return [{ owner, marked, remove: () => rmSync(file, { force: true }) }];
  });
}

/** Changes with every start of the machine; absent where the system has no such thing. */
function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return undefined;
  }
}
