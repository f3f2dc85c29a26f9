import {
  closeSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { hostMarks, type ProcessMark, type ProcessMarks } from '../../platform/process-mark/index.ts';
import { parseEngagement, type Engagement } from './engagement.ts';

/** A file of the journal, kept until all of it is in the database. */
interface Segment {
  file: string;
  handle: number;
  bytes: number;
  /** Offset up to which it is in the database. */
  recorded: number;
}

/** The next engagements of a segment, and the offset after them. */
export interface Taken {
  engagements: Engagement[];
  segment: Segment;
  end: number;
}

/**
 * Engagements that were responded to and are not in the database yet, in append-only files. Nothing is synced: a killed
 * process loses nothing that it wrote to a file, and a click is not worth a sync. Nothing is kept in memory either.
 */
export interface TrackJournal {
  /**
   * Appends engagements in one write; returns false if there is no room for them, and throws if the file cannot be
   * written.
   */
  append(engagements: readonly Engagement[]): boolean;
  /** Returns the oldest waiting engagements, at most `max`, and skips unreadable lines; undefined if nothing waits. */
  take(max: number): Taken | undefined;
  /** Marks engagements as done: they are in the database, or never will be. */
  settle(taken: Taken): void;
  waitingBytes(): number;
  /** Closes the journal; leaves waiting engagements to the next start of any process. */
  close(): void;
}

const SEGMENT_BYTES_MAX = 1024 * 1024;
/** Longer than any line: a target has at most 4 KB, a user agent 512 characters. */
const CHUNK_BYTES = 256 * 1024;
const NAME = /^tracked-(left-)?[0-9a-f-]{36}-\d+\.log$/;
const LEFT = 'tracked-left-';

export interface TrackJournalOptions {
  runDir: string;
  owner: string;
  bytesMax: number;
  /** No other process uses this folder; otherwise, a segment is taken over only if its writer is known to be gone. */
  isAlone: boolean;
  marks?: ProcessMarks | undefined;
}

/** Opens the journal and takes over the segments that earlier processes of this data folder did not record. */
export function openTrackJournal(options: TrackJournalOptions): TrackJournal {
  const { runDir, owner, bytesMax, isAlone, marks = hostMarks() } = options;
  const header = `${JSON.stringify(marks.own)}\n`;
  const segments = new Set<Segment>(findAbandonedSegments(runDir, isAlone, marks));
  let bytes = [...segments].reduce((sum, segment) => sum + segment.bytes, 0);
  let current: Segment | undefined;
  let made = 0;

  const begin = (): Segment => {
    const file = path.join(runDir, `tracked-${owner}-${++made}.log`);
    const segment: Segment = { file, handle: openSync(file, 'ax+', 0o600), bytes: 0, recorded: 0 };
    segments.add(segment);
    try {
      write(segment, header);
    } catch (error) {
      // The disk is full, and the next reader would begin another file.
      remove(segment);
      throw error;
    }
    segment.recorded = segment.bytes;
    return segment;
  };
  const write = (segment: Segment, text: string): void => {
    const line = Buffer.from(text);
    const written = writeSync(segment.handle, line);
    segment.bytes += written;
    bytes += written;
    if (written < line.length)
      throw new Error(`only ${written} of ${line.length} bytes were written to ${segment.file}`);
  };
  const remove = (segment: Segment): void => {
    closeSync(segment.handle);
    rmSync(segment.file, { force: true });
    segments.delete(segment);
    bytes -= segment.bytes;
  };
  const empty = (segment: Segment): void => {
    if (segment !== current) return remove(segment);
    ftruncateSync(segment.handle, header.length);
    bytes -= segment.bytes - header.length;
    segment.bytes = header.length;
    segment.recorded = header.length;
  };
  const isDone = (segment: Segment): boolean => segment.recorded >= segment.bytes;

  return {
    append(engagements) {
      if (bytes >= bytesMax) return false;
      try {
        if (!current || current.bytes >= SEGMENT_BYTES_MAX) current = begin();
        write(current, engagements.map((engagement) => `${JSON.stringify(engagement)}\n`).join(''));
      } catch (error) {
        // A partial line would corrupt the line after it.
        const spoilt = current;
        current = undefined;
        if (spoilt && isDone(spoilt)) remove(spoilt);
        throw error;
      }
      return true;
    },
    take(max) {
      for (const segment of segments) {
        if (isDone(segment)) continue;
        const taken = readNext(segment, max);
        if (taken.engagements.length > 0) return taken;
        segment.recorded = taken.end;
        if (isDone(segment)) empty(segment);
      }
      return undefined;
    },
    settle({ segment, end }) {
      segment.recorded = end;
      if (isDone(segment)) empty(segment);
    },
    waitingBytes: () => [...segments].reduce((sum, segment) => sum + segment.bytes - segment.recorded, 0),
    close() {
      const faults: unknown[] = [];
      for (const segment of segments) {
        try {
          if (isDone(segment)) remove(segment);
          else leave(segment);
        } catch (fault) {
          faults.push(fault);
        }
      }
      if (faults.length > 0) throw faults[0];
    },
  };
}

/** Renames the file so that the next start takes it over at once, even next to running processes. */
function leave({ file, handle }: Segment): void {
  closeSync(handle);
  const name = path.basename(file);
  if (name.startsWith(LEFT)) return;
  try {
    renameSync(file, path.join(path.dirname(file), name.replace('tracked-', LEFT)));
  } catch (error) {
    // Another process of the folder has taken it over, recorded it and removed it.
    if (!isMissing(error)) throw error;
  }
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

function readNext(segment: Segment, max: number): Taken {
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, segment.bytes - segment.recorded));
  const read = readSync(segment.handle, chunk, 0, chunk.length, segment.recorded);
  const engagements: Engagement[] = [];
  let at = 0;
  while (engagements.length < max && at < read) {
    const lineEnd = chunk.indexOf(0x0a, at);
    // A crash has cut the last line short.
    if (lineEnd < 0 || lineEnd >= read) break;
    const engagement = parseEngagement(chunk.toString('utf8', at, lineEnd));
    if (engagement) engagements.push(engagement);
    at = lineEnd + 1;
  }
  return { engagements, segment, end: at === 0 ? segment.bytes : segment.recorded + at };
}

function findAbandonedSegments(runDir: string, isAlone: boolean, marks: ProcessMarks): Segment[] {
  return readdirSync(runDir)
    .filter((name) => NAME.test(name))
    .flatMap((name) => {
      const segment = openIfThere(path.join(runDir, name));
      if (!segment) return [];
      const isLeft = isAlone || name.startsWith(LEFT) || !marks.mayBeAlive(markIn(segment, marks));
      if (isLeft) return [segment];
      closeSync(segment.handle);
      return [];
    });
}

/** Opens a segment; returns undefined if another starting process has taken it. */
function openIfThere(file: string): Segment | undefined {
  try {
    const handle = openSync(file, 'r');
    return { file, handle, bytes: statSync(file).size, recorded: 0 };
  } catch (error) {
    if (!isMissing(error)) throw error;
    return undefined;
  }
}

/** Returns the mark of the writer. Without a header, the writer ended before it had noted anything. */
function markIn(segment: Segment, { own }: ProcessMarks): ProcessMark {
  const chunk = Buffer.alloc(1024);
  const read = readSync(segment.handle, chunk, 0, chunk.length, 0);
  try {
    return JSON.parse(chunk.toString('utf8', 0, read).split('\n', 1)[0] ?? '') as ProcessMark;
  } catch {
    return { ...own, process: '' };
  }
}
