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

/** One file of the journal, kept until everything in it stands in the database. */
interface Segment {
  file: string;
  handle: number;
  bytes: number;
  /** Up to here it stands in the database. */
  recorded: number;
}

/** The next engagements of a segment, and where they end. */
export interface Taken {
  engagements: Engagement[];
  segment: Segment;
  end: number;
}

/**
 * What was answered and is not in the database yet, in files that are only added to. Nothing is synced: a killed process
 * loses nothing that it wrote to a file, and a click is not worth a sync of its own. Nothing is kept in memory either.
 */
export interface TrackJournal {
  /** In one write; false when there is no room for them, and throws when the file cannot be written. */
  append(engagements: readonly Engagement[]): boolean;
  /** The oldest that wait, at most so many; what cannot be read is passed over. Undefined when nothing waits. */
  take(max: number): Taken | undefined;
  /** They stand in the database, or never will. */
  settle(taken: Taken): void;
  waitingBytes(): number;
  /** With what is still waiting left to the next start of any process. */
  close(): void;
}

const SEGMENT_BYTES_MAX = 1024 * 1024;
/** Longer than any line: a target has at most 4 KB, a name of a program 512 characters. */
const CHUNK_BYTES = 256 * 1024;
const NAME = /^tracked-(left-)?[0-9a-f-]{36}-\d+\.log$/;
const LEFT = 'tracked-left-';

export interface TrackJournalOptions {
  runDir: string;
  owner: string;
  bytesMax: number;
  /** Whether no other process uses this folder; otherwise only what its writer has surely left is taken over. */
  isAlone: boolean;
  marks?: ProcessMarks | undefined;
}

/** Takes over what earlier processes of this data folder noted and did not record. */
export function openTrackJournal(options: TrackJournalOptions): TrackJournal {
  const { runDir, owner, bytesMax, isAlone, marks = hostMarks() } = options;
  const header = `${JSON.stringify(marks.own)}\n`;
  const segments = new Set<Segment>(leftSegments(runDir, isAlone, marks));
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
      // The disk is full, and the next reader would begin another one.
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
    if (written < line.length) throw new Error(`${segment.file} took ${written} of ${line.length} bytes`);
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
        // Half a line would spoil the line behind it.
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
        const taken = nextOf(segment, max);
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

/** Names it so that the next start takes it over at once, even beside living processes. */
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

function nextOf(segment: Segment, max: number): Taken {
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

function leftSegments(runDir: string, isAlone: boolean, marks: ProcessMarks): Segment[] {
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

/** Another process that starts just now may have taken it. */
function openIfThere(file: string): Segment | undefined {
  try {
    const handle = openSync(file, 'r');
    return { file, handle, bytes: statSync(file).size, recorded: 0 };
  } catch (error) {
    if (!isMissing(error)) throw error;
    return undefined;
  }
}

/** Without its header, the writer ended before it had noted anything. */
function markIn(segment: Segment, { own }: ProcessMarks): ProcessMark {
  const chunk = Buffer.alloc(1024);
  const read = readSync(segment.handle, chunk, 0, chunk.length, 0);
  try {
    return JSON.parse(chunk.toString('utf8', 0, read).split('\n', 1)[0] ?? '') as ProcessMark;
  } catch {
    return { ...own, process: '' };
  }
}
