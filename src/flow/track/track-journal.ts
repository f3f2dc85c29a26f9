import { closeSync, ftruncateSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { mayBeAlive, ownMark, type ProcessMark } from '../../platform/process-mark/index.ts';
import { parseReading, type Reading } from './reading.ts';

/** One file of the journal, kept until everything in it stands in the database. */
export interface Segment {
  file: string;
  /** Absent for the file of an earlier process. */
  handle: number | undefined;
  bytes: number;
  waiting: number;
}

export interface Noted {
  reading: Reading;
  segment: Segment;
}

/**
 * What was answered and is not in the database yet, in files that are only added to. Nothing is synced: a killed process
 * loses nothing that it wrote to a file, and a click is not worth a sync of its own.
 */
export interface TrackJournal {
  /** Undefined when there is no room for it; throws when the file cannot be written. */
  append(reading: Reading): Noted | undefined;
  /** They stand in the database, or never will. */
  settle(noted: readonly Noted[]): void;
  /** With what is still waiting left to the next start, whoever makes it. */
  close(): void;
}

const SEGMENT_BYTES_MAX = 1024 * 1024;
const NAME = /^tracked-(left-)?[0-9a-f-]{36}-\d+\.log$/;

export function openTrackJournal(
  runDir: string,
  owner: string,
  bytesMax: number,
  left: readonly Segment[],
): TrackJournal {
  const header = `${JSON.stringify(ownMark())}\n`;
  const segments = new Set<Segment>(left);
  let bytes = left.reduce((sum, segment) => sum + segment.bytes, 0);
  let current: Segment | undefined;
  let made = 0;

  const begin = (): Segment => {
    const file = path.join(runDir, `tracked-${owner}-${++made}.log`);
    const segment: Segment = { file, handle: openSync(file, 'ax', 0o600), bytes: 0, waiting: 0 };
    segments.add(segment);
    write(segment, header);
    return segment;
  };
  const write = (segment: Segment, text: string): void => {
    const line = Buffer.from(text);
    const written = writeSync(segment.handle ?? -1, line);
    segment.bytes += written;
    bytes += written;
    if (written < line.length) throw new Error(`${segment.file} took ${written} of ${line.length} bytes`);
  };
  const remove = (segment: Segment): void => {
    if (segment.handle !== undefined) closeSync(segment.handle);
    rmSync(segment.file, { force: true });
    segments.delete(segment);
    bytes -= segment.bytes;
  };
  const empty = (segment: Segment): void => {
    if (segment !== current || segment.handle === undefined) return remove(segment);
    ftruncateSync(segment.handle, header.length);
    bytes -= segment.bytes - header.length;
    segment.bytes = header.length;
  };

  return {
    append(reading) {
      if (bytes >= bytesMax) return undefined;
      try {
        if (!current || current.bytes >= SEGMENT_BYTES_MAX) current = begin();
        write(current, `${JSON.stringify(reading)}\n`);
      } catch (error) {
        // Half a line would spoil the line behind it.
        const spoilt = current;
        current = undefined;
        if (spoilt?.waiting === 0) remove(spoilt);
        throw error;
      }
      current.waiting++;
      return { reading, segment: current };
    },
    settle(noted) {
      for (const { segment } of noted) if (--segment.waiting === 0) empty(segment);
    },
    close() {
      for (const segment of segments) {
        if (segment.waiting === 0) remove(segment);
        else if (segment.handle !== undefined) {
          closeSync(segment.handle);
          renameSync(segment.file, path.join(runDir, path.basename(segment.file).replace('tracked-', 'tracked-left-')));
        }
      }
    },
  };
}

/**
 * What processes that ended have left behind. With `isAlone` the caller knows that no other process uses this folder;
 * otherwise a file counts as left only when its writer is known to be gone, or has said so itself.
 */
export function leftReadings(runDir: string, { isAlone }: { isAlone: boolean }): Noted[] {
  return readdirSync(runDir).flatMap((name) => {
    const match = NAME.exec(name);
    if (!match) return [];
    const file = path.join(runDir, name);
    const text = readIfThere(file);
    const [header = '', ...lines] = text.split('\n');
    if (!isAlone && match[1] === undefined && mayBeAlive(parseMark(header))) return [];
    const segment: Segment = { file, handle: undefined, bytes: Buffer.byteLength(text), waiting: 0 };
    const noted = lines.flatMap((line) => {
      const reading = parseReading(line);
      return reading ? [{ reading, segment }] : [];
    });
    segment.waiting = noted.length;
    if (noted.length === 0) rmSync(file, { force: true });
    return noted;
  });
}

/** Another process that starts just now may have taken it. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return '';
  }
}

/** Without its header, the writer ended before it had noted anything. */
function parseMark(header: string): ProcessMark {
  try {
    return JSON.parse(header) as ProcessMark;
  } catch {
    return { ...ownMark(), process: '' };
  }
}
