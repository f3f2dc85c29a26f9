import { createHash } from 'node:crypto';
import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { hostMarks, isOfThisBoot, type ProcessMark, type ProcessMarks } from '../../platform/process-mark/index.ts';

/**
 * A file of fixed slots that notes, per delivery, that its final dot is about to be written.
 *
 * The ledger in the database is synced before the dot, but a group's sync takes a while: a process killed inside it
 * would leave a whole group in doubt that was never sent. So the dot is preceded by one more write, of its own and not
 * synced, in the same tick. A killed process loses nothing that it wrote to a file, so after a kill the slots show
 * exactly which dots were about to be written.
 *
 * This holds only while the file system stays available. A disk that is lost and comes back without a reboot (a forced
 * unmount, an aborted journal, iSCSI, NBD, a detached volume) has the synced ledger and lacks the slots of the last
 * half minute, so their deliveries would be sent twice. A process cannot detect such a disk: the device number stays
 * the same; the id of a mount belongs to a mount namespace, which each start of a sandboxed service or container
 * creates anew, and is reused; and a failed write-back drops pages without an unmount. Therefore the slots are in a
 * tmpfs, which has no disk to lose: as long as the file exists, it is correct, whatever happened to the data folder. If
 * the file is missing, the marks are unknown, and every delivery past its ledger entry is in doubt. This happens after
 * a restart of the machine, or of a container with a tmpfs of its own; if the system has no tmpfs; and if another
 * program cleared it. A missing file never means that nothing was sent.
 *
 * The folder on the tmpfs is named after the data folder (the id of the node, which is valid for one inode, and its
 * path), so that a clone of the data folder never uses the slots of the original. The data folder also contains a note
 * that names the writer of the log, because on a shared database the lease of a process is released only once the
 * process is known to have ended. The note has a name of its own: a release that trusted slots in the data folder must
 * not read it as "nothing was sent".
 */
export interface HandOffLog {
  /** The lease owner in queue, ledger and settle as well, by which recovery joins this file and the rows. */
  readonly owner: string;
  /** The folder of the slots; undefined if there is no tmpfs, so that a crash leaves every hand-off in doubt. */
  readonly memory: string | undefined;
  mark(deliveryId: string): void;
  clear(deliveryId: string): void;
  close(): void;
}

export interface HandOffOptions {
  marks?: ProcessMarks | undefined;
  /** A folder that the service manager made for the service and keeps between starts; tried before /dev/shm. */
  runtimeDir?: string | undefined;
}

const UUID_CHARS = 36;
const SLOT_BYTES = UUID_CHARS + 1;
const SLOTS = /^hand-off-([0-9a-f-]{36})\.slots$/;
const NOTE = /^hand-off-([0-9a-f-]{36})\.owner$/;
/** The header has three slots: the boot of the machine, the process and the node. */
const HEADER_SLOTS = 3;

export function openHandOffLog(
  runDir: string,
  owner: string,
  { marks = hostMarks(), runtimeDir }: HandOffOptions = {},
): HandOffLog {
  const note = path.join(runDir, `hand-off-${owner}.owner`);
  const noteHandle = openSync(note, 'wx', 0o600);
  writeHeader(noteHandle, note, marks.own);
  closeSync(noteHandle);
  const opened = openSlots(memoryFolders(runDir, marks, runtimeDir), owner, marks.own);
  const close = (): void => {
    if (opened) closeSync(opened.handle);
    removeLog([note, opened?.file]);
  };
  if (!opened) return { owner, memory: undefined, mark: () => undefined, clear: () => undefined, close };
  const { handle, file } = opened;
  const slotsById = new Map<string, number>();
  const free: number[] = [];
  let slots = HEADER_SLOTS;
  return {
    owner,
    memory: path.dirname(file),
    // A delivery that is tried twice in one attempt keeps its first mark.
    mark(deliveryId) {
      if (slotsById.has(deliveryId)) return;
      const slot = free.pop() ?? slots++;
      try {
        writeSlot(handle, file, slot, deliveryId);
      } catch (error) {
        free.push(slot);
        throw error;
      }
      slotsById.set(deliveryId, slot);
    },
    // The slot is cleared: a deferred delivery returns under the same id, and has not reached its dot again then.
    clear(deliveryId) {
      const slot = slotsById.get(deliveryId);
      if (slot === undefined) return;
      writeSlot(handle, file, slot, '');
      slotsById.delete(deliveryId);
      free.push(slot);
    },
    close,
  };
}

export interface AbandonedLog {
  owner: string;
  /** The deliveries whose final dot may have been sent; undefined if that is not known. */
  marked: Set<string> | undefined;
  remove(): void;
}

/**
 * Lists the logs of processes that ended without closing theirs. With `isAlone` no other process uses this folder;
 * otherwise a log is listed only if its writer is known to have ended, because the process of another node may be
 * alive.
 */
export function findAbandonedLogs(
  runDir: string,
  { isAlone, marks = hostMarks(), runtimeDir }: HandOffOptions & { isAlone: boolean },
): AbandonedLog[] {
  const left = new Map<string, { writer: ProcessMark; marked: Set<string> | undefined; files: string[] }>();
  // Slots in the data folder come from an older release; a disk may have lost some of them.
  const found = [...logsIn(runDir, NOTE), ...logsIn(runDir, SLOTS)].map((log) => ({ ...log, isMemory: false }));
  for (const folder of memoryFolders(runDir, marks, runtimeDir))
    if (isUsable(folder)) found.push(...logsIn(folder, SLOTS).map((log) => ({ ...log, isMemory: true })));
  for (const { owner, file, isMemory } of found) {
    const [boot = '', process = '', host = '', ...slots] = readSlots(file);
    const writer = { boot, process, host };
    const known = left.get(owner) ?? { writer, marked: undefined, files: [] };
    if (isMemory && isOfThisBoot(writer)) known.marked = new Set(slots.filter((id) => id !== ''));
    known.files.push(file);
    left.set(owner, known);
  }
  return [...left].flatMap(([owner, { writer, marked, files }]) =>
    !isAlone && marks.mayBeAlive(writer) ? [] : [{ owner, marked, remove: () => removeLog(files) }],
  );
}

const SHARED_MEMORY = '/dev/shm';
const TMPFS = 0x01021994;
const RAMFS = 0x858458f6;

/**
 * Returns the folders on a tmpfs that may contain the slots, in order of preference. The second one serves a program
 * that is started by hand or in a container; systemd may remove what the account of a unit leaves there (RemoveIPC).
 */
function memoryFolders(runDir: string, { own }: ProcessMarks, runtimeDir: string | undefined): string[] {
  const id = createHash('sha256')
    .update(`${own.host}\n${realpathSync(runDir)}`)
    .digest('hex')
    .slice(0, 32);
  return [runtimeDir, SHARED_MEMORY].flatMap((folder) =>
    folder !== undefined && isMemory(folder) ? [path.join(folder, `rasket-hand-off-${id}`)] : [],
  );
}

function isMemory(folder: string): boolean {
  try {
    const { type } = statfsSync(folder);
    return type === TMPFS || type === RAMFS;
  } catch {
    return false;
  }
}

/** Returns whether a folder is ours and only we can write to it. Any account may make a folder in /dev/shm. */
function isUsable(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}

/** Opens the slots in the first folder where that succeeds. */
function openSlots(
  folders: readonly string[],
  owner: string,
  writer: ProcessMark,
): { handle: number; file: string } | undefined {
  for (const folder of folders) {
    const file = path.join(folder, `hand-off-${owner}.slots`);
    let handle: number | undefined;
    try {
      mkdirSync(folder, { mode: 0o700, recursive: true });
      if (!isUsable(folder)) continue;
      handle = openSync(file, 'wx', 0o600);
      writeHeader(handle, file, writer);
      return { handle, file };
    } catch {
      // A tmpfs that is full or read-only counts as missing.
      if (handle !== undefined) closeSync(handle);
      removeLog([file]);
    }
  }
  return undefined;
}

function writeHeader(handle: number, file: string, { boot, process, host }: ProcessMark): void {
  for (const [slot, text] of [boot, process, host].entries()) writeSlot(handle, file, slot, text);
}

function writeSlot(handle: number, file: string, slot: number, text: string): void {
  const bytes = Buffer.from(`${text.slice(0, UUID_CHARS).padEnd(UUID_CHARS)}\n`, 'latin1');
  // A file system that becomes full writes a part of the entry, and reports nothing else.
  if (writeSync(handle, bytes, 0, SLOT_BYTES, slot * SLOT_BYTES) < SLOT_BYTES)
    throw Object.assign(new Error(`${file} has no room for a whole entry; its file system is full`), {
      code: 'ENOSPC',
    });
}

const logsIn = (folder: string, form: RegExp): { owner: string; file: string }[] =>
  readdirSync(folder).flatMap((name) => {
    const owner = form.exec(name)?.[1];
    return owner === undefined ? [] : [{ owner, file: path.join(folder, name) }];
  });

/** Reads slots by their position: one that is cut short or missing does not hide the others. */
function readSlots(file: string): string[] {
  const content = readFileSync(file, 'latin1');
  return Array.from({ length: Math.ceil(content.length / SLOT_BYTES) }, (_, slot) =>
    content.slice(slot * SLOT_BYTES, slot * SLOT_BYTES + UUID_CHARS).trim(),
  );
}

function removeLog(files: readonly (string | undefined)[]): void {
  for (const file of files) {
    if (file === undefined) continue;
    try {
      rmSync(file, { force: true });
      // Removing the last slots removes their folder.
      if (SLOTS.test(path.basename(file))) rmdirSync(path.dirname(file));
    } catch {
      // The folder has slots of other processes, or the disk is gone; the next start reads what remains.
    }
  }
}
