import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { ApiFault, NoAnswer, type AnswerOf } from '../client/index.ts';
import { mustBeReadable } from '../input/local-file.ts';
import { clean, CliFault, EXIT } from '../output/index.ts';
import type { Session } from './declare.ts';
import type { Call } from './run-action.ts';
import { progressBar } from './progress-bar.ts';

type Operation = 'sendEventBatch' | 'createContactBatch';
type Answer = AnswerOf<'sendEventBatch'> | AnswerOf<'createContactBatch'>;
type Item = Record<string, unknown>;

/** A kind of object of which a file has one on each line. */
export interface LineKind {
  operation: Operation;
  /** What an object has, for a line that is none. */
  shape: string;
  /** Fields of the objects that do not have them. */
  presets: Item;
  /** Returns a key that only one object of a batch may have. */
  readKey?: (item: Item) => string | undefined;
  /** Describes how many were taken, such as `12 sent`. */
  describe(counts: { accepted: number; created: number }): string;
}

interface LineOptions {
  file: string;
  fromLine: number;
}

/**
 * Returns the file of a command that takes one object in its options or many in a file; undefined if there is none.
 * Refuses other options beside a file.
 */
export function readLineOptions(call: Call, word: string): LineOptions | undefined {
  const { file, fromLine, ...options } = call.options as Record<string, unknown>;
  if (typeof file !== 'string') {
    if (fromLine !== undefined) throw new CliFault('--from-line needs --file', 'usage');
    if (call.words[0] === undefined) throw new CliFault(`missing required argument '${word}', or --file`, 'usage');
    return undefined;
  }
  const others = Object.keys(options).filter((name) => options[name] !== undefined && !COMMON.has(name));
  if (others.length > 0) {
    throw new CliFault('--file contains all fields of each object; omit the other options', 'usage');
  }
  return { file, fromLine: Number(fromLine ?? 1) };
}

const COMMON = new Set(['json', 'url', 'apiKey', 'profile', 'data']);

/** Limits of a batch that the server takes, with some room for what surrounds the objects. */
const ITEMS_MAX = 1000;
const BYTES_MAX = 900_000;
/** Lines that come one by one, such as those of a log that is followed, do not wait longer for others. */
const GATHER_MS = 100;
/** A response that was lost is asked for again after these pauses: with its key, the batch is not taken twice. */
const RETRIES_MS = [250, 1500];

interface Line {
  number: number;
  item: Item;
}

/** Sends the objects of a file in batches while reading it. Faulty lines are reported, and the others are sent. */
export async function sendLines(session: Session, options: LineOptions, kind: LineKind): Promise<void> {
  if (options.file !== '-') await mustBeReadable(options.file, session.process.cwd());
  await new LineSender(session, options, kind).run();
}

class LineSender {
  readonly #session: Session;
  readonly #options: LineOptions;
  readonly #kind: LineKind;
  readonly #stop = new AbortController();
  #line = 0;
  #lines = 0;
  #accepted = 0;
  #created = 0;
  #failed = 0;
  /** A fault that would stop every other line as well. */
  #fault: unknown;
  /** First line that this stopped, or Ctrl-C before it was sent. */
  #next: number | undefined;
  /** Lines whose response was lost: they may have been accepted, and are not sent again by a run that continues. */
  #inDoubt: number[] = [];
  #batch: Line[] = [];
  #batchBytes = 0;
  #keys = new Set<string>();
  /** Resolves once no line has come for a moment; there is a new one for each batch. */
  #idle = Promise.withResolvers<undefined>();

  constructor(session: Session, options: LineOptions, kind: LineKind) {
    this.#session = session;
    this.#options = options;
    this.#kind = kind;
  }

  async run(): Promise<void> {
    const { process, terminal } = this.#session;
    const interrupt = (): void => {
      this.#stop.abort();
      terminal.progress('');
      terminal.hint('Stopping after the lines that are being sent.');
    };
    process.once('SIGINT', interrupt);
    try {
      if (terminal.isTty && this.#options.file !== '-') this.#lines = await this.#count();
      await this.#readAll();
    } finally {
      process.off('SIGINT', interrupt);
      terminal.progress('');
    }
    this.#printResult();
  }

  #open(): NodeJS.ReadableStream {
    const { file } = this.#options;
    const { stdin, cwd } = this.#session.process;
    return file === '-' ? stdin : createReadStream(path.resolve(cwd(), file));
  }

  async #count(): Promise<number> {
    let lines = 0;
    for await (const chunk of this.#open() as AsyncIterable<Buffer>) {
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
    }
    return lines;
  }

  async #readAll(): Promise<void> {
    const { signal } = this.#stop;
    const input = createInterface({ input: this.#open(), crlfDelay: Number.POSITIVE_INFINITY, signal });
    const lines = input[Symbol.asyncIterator]();
    const timer = setTimeout(() => this.#idle.resolve(undefined), GATHER_MS);
    try {
      for (let next = lines.next(); ;) {
        timer.refresh();
        const read = this.#batch.length === 0 ? await next : await Promise.race([next, this.#idle.promise]);
        if (signal.aborted || (read !== undefined && read.done === true)) break;
        if (read === undefined) {
          await this.#flush();
          continue;
        }
        await this.#take(read.value);
        next = lines.next();
      }
    } finally {
      clearTimeout(timer);
    }
    await this.#flush();
  }

  /** Adds a line to the batch, and sends the batch before if the line does not fit into it. */
  async #take(text: string): Promise<void> {
    this.#line++;
    const number = this.#line;
    if (number < this.#options.fromLine || text.trim() === '') return;
    let item: Item;
    try {
      item = { ...this.#kind.presets, ...readObject(text, this.#kind.shape) };
    } catch (error) {
      this.#noteFault(number, error as Error);
      return;
    }
    const key = this.#kind.readKey?.(item);
    const bytes = Buffer.byteLength(text) + JSON.stringify(this.#kind.presets).length;
    const isFull = this.#batch.length >= ITEMS_MAX || this.#batchBytes + bytes > BYTES_MAX;
    if (isFull || (key !== undefined && this.#keys.has(key))) await this.#flush();
    if (this.#stop.signal.aborted) {
      this.#next ??= number;
      return;
    }
    if (this.#batch.length === 0) this.#idle = Promise.withResolvers();
    this.#batch.push({ number, item });
    this.#batchBytes += bytes;
    if (key !== undefined) this.#keys.add(key);
  }

  async #flush(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#batchBytes = 0;
    this.#keys = new Set();
    await this.#send(batch);
    this.#show();
  }

  async #send(batch: readonly Line[]): Promise<void> {
    const [first] = batch;
    if (!first) return;
    if (this.#stop.signal.aborted) {
      this.#next ??= first.number;
      return;
    }
    try {
      const { data, errors = [] } = await this.#call(batch);
      this.#accepted += data.length;
      this.#created += data.filter((one) => 'status' in one && one.status === 'created').length;
      for (const { index, message } of errors) this.#noteFault(batch[index]?.number ?? 0, new Error(message));
    } catch (error) {
      if (error instanceof ApiFault && OF_ITS_LINES.has(error.status)) {
        if (batch.length === 1) return this.#noteFault(first.number, error);
        // Something in it is refused together with all else, such as a body that is too large.
        const half = Math.ceil(batch.length / 2);
        await this.#send(batch.slice(0, half));
        return this.#send(batch.slice(half));
      }
      if (error instanceof NoAnswer && error.isInDoubt) this.#inDoubt = batch.map(({ number }) => number);
      else this.#next ??= first.number;
      if (!this.#stop.signal.aborted) this.#fault = error;
      this.#stop.abort();
    }
  }

  /**
   * Sends a batch, waits as long as the rate limit asks for, and asks again for a response that was lost. A request that
   * was begun is not canceled: it may have been accepted.
   */
  async #call(batch: readonly Line[]): Promise<Answer> {
    const { signal } = this.#stop;
    const body = batch.map(({ item }) => item);
    const header = { 'Idempotency-Key': randomUUID(), 'x-batch-validation': 'permissive' as const };
    for (let lost = 0; ;) {
      try {
        return await this.#session.client.call(this.#kind.operation, { body: body as never, header });
      } catch (error) {
        const isLimited = error instanceof ApiFault && error.status === 429;
        if (isLimited && error.retryAfterSeconds !== undefined) {
          await wait(error.retryAfterSeconds * 1000, undefined, { signal });
          continue;
        }
        const pause = RETRIES_MS[lost++];
        if (pause === undefined || !isUndecided(error)) throw error;
        await wait(pause);
      }
    }
  }

  #describe(): string {
    return this.#kind.describe({ accepted: this.#accepted, created: this.#created });
  }

  #noteFault(line: number, error: Error): void {
    this.#failed++;
    const { terminal } = this.#session;
    terminal.progress('');
    terminal.warn(`rasket: line ${line} was not sent: ${clean(error.message)}`);
  }

  #show(): void {
    const { terminal } = this.#session;
    const note = `${this.#describe()}, ${this.#failed} not`;
    const isCounted = this.#lines > 0;
    const bar = progressBar(this.#line, Math.max(this.#lines, this.#line), note, terminal.columns);
    terminal.progress(isCounted ? bar : `line ${this.#line}: ${note}`);
  }

  #printResult(): void {
    const { terminal, isJson, again } = this.#session;
    const isStopped = this.#stop.signal.aborted;
    const next = this.#next ?? (this.#inDoubt.at(-1) ?? this.#line) + 1;
    if (isJson) {
      const counts = { sent: this.#accepted, failed: this.#failed };
      terminal.printJson({ ...counts, next_line: isStopped ? next : null, in_doubt: this.#inDoubt });
    } else {
      terminal.print(`${this.#describe()}, ${this.#failed} not sent`);
    }
    if (isStopped) {
      if (this.#inDoubt.length > 0) terminal.warn(`rasket: ${describeDoubt(this.#inDoubt)}`);
      terminal.warn(`rasket: Stopped before line ${next}. Continue with --from-line ${next}:`);
      terminal.warn(again(['--from-line', String(next)]));
    }
    if (this.#fault !== undefined) throw this.#fault as Error;
    if (isStopped) this.#session.fail();
    else if (this.#failed > 0) this.#session.fail(EXIT.refused);
  }
}

function readObject(text: string, shape: string): Item {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (error) {
    throw new Error(`it is not JSON: ${(error as Error).message}`, { cause: error });
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read)) {
    throw new Error(`it must be a JSON object: ${shape}`);
  }
  return read as Item;
}

function describeDoubt(lines: readonly number[]): string {
  const first = lines[0];
  const last = lines.at(-1);
  const are = first === last ? `Line ${first} is` : `Lines ${first} to ${last} are`;
  return `${are} in doubt, and the command below does not send ${first === last ? 'it' : 'them'} again. Check what arrived first.`;
}

/** Refusals that concern the lines of a batch. */
const OF_ITS_LINES = new Set([400, 404, 409, 413, 422]);

/** Reports whether it is not known yet if a batch was taken: the response was lost, or the first request is still running. */
const isUndecided = (error: unknown): boolean =>
  (error instanceof NoAnswer && error.isInDoubt) ||
  (error instanceof ApiFault && error.body.name === 'concurrent_idempotent_requests');
