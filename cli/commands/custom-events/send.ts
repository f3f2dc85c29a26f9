import { createReadStream } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { ApiFault, NoAnswer } from '../../client/index.ts';
import { mustBeReadable } from '../../input/local-file.ts';
import { clean, CliFault, EXIT } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { runAction, type Call } from '../run-action.ts';
import { progressBar } from '../progress-bar.ts';

const CALLS_AT_ONCE = 8;

interface Sending {
  file: string;
  fromLine: number;
  /** The event of lines that name none. */
  event: string | undefined;
}

export async function runSendEvent(session: Session, call: Call): Promise<void> {
  const { file, fromLine, email, contact, payload, payloadFile } = call.options;
  const [event] = call.words as [string | undefined];
  if (typeof file !== 'string') {
    if (fromLine !== undefined) throw new CliFault('--from-line needs --file', 'usage');
    if (event === undefined) throw new CliFault("missing required argument 'event', or --file", 'usage');
    return runAction(session, call);
  }
  if ([email, contact, payload, payloadFile].some((given) => given !== undefined)) {
    throw new CliFault('--file contains contacts and payloads; omit the other options', 'usage');
  }
  if (file !== '-') await mustBeReadable(file, session.process.cwd());
  await new LineSender(session, { file, event, fromLine: Number(fromLine ?? 1) }).run();
}

/**
 * Sends the events of a file while reading it, several at once. A fault of a line is reported, and the other lines
 * continue.
 */
class LineSender {
  readonly #session: Session;
  readonly #sending: Sending;
  readonly #stop = new AbortController();
  readonly #inFlight = new Set<Promise<void>>();
  #line = 0;
  #lines = 0;
  #sent = 0;
  #failed = 0;
  /** A fault that would stop every other line as well. */
  #fault: unknown;
  /** Lines that this stopped, or Ctrl-C while they waited for the limit. They are to be sent again, and no others. */
  readonly #stopped: number[] = [];
  /** Lines whose response was lost: they may have been accepted, and are not sent again by a run that continues. */
  readonly #inDoubt: number[] = [];
  #lastSent = 0;

  constructor(session: Session, sending: Sending) {
    this.#session = session;
    this.#sending = sending;
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
      if (terminal.isTty && this.#sending.file !== '-') this.#lines = await this.#count();
      await this.#sendAll();
    } finally {
      process.off('SIGINT', interrupt);
      terminal.progress('');
    }
    this.#printResult();
  }

  #open(): NodeJS.ReadableStream {
    const { file } = this.#sending;
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

  async #sendAll(): Promise<void> {
    const { signal } = this.#stop;
    const lines = createInterface({ input: this.#open(), crlfDelay: Number.POSITIVE_INFINITY, signal });
    for await (const text of lines) {
      if (signal.aborted) break;
      this.#line++;
      if (this.#line < this.#sending.fromLine || text.trim() === '') continue;
      const sent = this.#sendLine(this.#line, text).finally(() => this.#inFlight.delete(sent));
      this.#inFlight.add(sent);
      if (this.#inFlight.size >= CALLS_AT_ONCE) await Promise.race(this.#inFlight);
    }
    await Promise.all(this.#inFlight);
  }

  async #sendLine(line: number, text: string): Promise<void> {
    try {
      await this.#sendWhenAllowed(this.#read(text));
      this.#sent++;
      this.#lastSent = Math.max(this.#lastSent, line);
    } catch (error) {
      this.#noteFault(line, error);
    }
    this.#show();
  }

  #noteFault(line: number, error: unknown): void {
    this.#failed++;
    const isInDoubt = error instanceof NoAnswer && error.isInDoubt;
    const isOfLine = error instanceof LineFault || (error instanceof ApiFault && OF_A_LINE.has(error.status));
    if (!isOfLine) {
      if (isInDoubt) this.#lastSent = Math.max(this.#lastSent, line);
      (isInDoubt ? this.#inDoubt : this.#stopped).push(line);
      if (!this.#stop.signal.aborted) this.#fault = error;
      this.#stop.abort();
    }
    const { terminal } = this.#session;
    terminal.progress('');
    const what = isInDoubt ? 'may have been sent' : 'was not sent';
    terminal.warn(`rasket: line ${line} ${what}: ${clean((error as Error).message)}`);
  }

  #read(text: string): object {
    let read: unknown;
    try {
      read = JSON.parse(text);
    } catch (error) {
      throw new LineFault(`it is not JSON: ${(error as Error).message}`);
    }
    if (typeof read !== 'object' || read === null || Array.isArray(read)) {
      throw new LineFault('it must be a JSON object: {"event", "contact_id" or "email", "payload"}');
    }
    const { event } = this.#sending;
    return event === undefined ? read : { event, ...read };
  }

  /** Waits as long as the rate limit asks for. A request that was begun is not canceled: it may have been accepted. */
  async #sendWhenAllowed(body: object): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      try {
        return void (await this.#session.client.call('sendEvent', { body: body as never }));
      } catch (error) {
        if (!(error instanceof ApiFault) || error.status !== 429) throw error;
        if (error.retryAfterSeconds === undefined) throw error;
        await wait(error.retryAfterSeconds * 1000, undefined, { signal });
      }
    }
  }

  #show(): void {
    const { terminal } = this.#session;
    const note = `${this.#sent} sent, ${this.#failed} not`;
    const isCounted = this.#lines > 0;
    const bar = progressBar(this.#line, Math.max(this.#lines, this.#line), note, terminal.columns);
    terminal.progress(isCounted ? bar : `line ${this.#line}: ${note}`);
  }

  /**
   * Returns the line to continue with, after all that were sent: none is sent twice. Earlier lines that were stopped
   * are returned separately.
   */
  #findRemaining(): { next: number; apart: number[] } {
    const stopped = this.#stopped.toSorted((a, b) => a - b);
    const next = stopped.find((line) => line > this.#lastSent) ?? this.#line + 1;
    return { next, apart: stopped.filter((line) => line < this.#lastSent) };
  }

  #printResult(): void {
    const { terminal, isJson, again } = this.#session;
    const isStopped = this.#stop.signal.aborted;
    const { next, apart } = this.#findRemaining();
    const inDoubt = this.#inDoubt.toSorted((a, b) => a - b);
    const counts = { sent: this.#sent, failed: this.#failed };
    if (isJson) terminal.printJson({ ...counts, next_line: isStopped ? next : null, apart, in_doubt: inDoubt });
    else terminal.print(`${this.#sent} sent, ${this.#failed} not sent`);
    if (isStopped) {
      if (inDoubt.length > 0) {
        const are = inDoubt.length === 1 ? `Line ${inDoubt[0]} is` : `Lines ${inDoubt.join(', ')} are`;
        terminal.warn(
          `rasket: ${are} in doubt, and the command below does not send ${inDoubt.length === 1 ? 'it' : 'them'} again. Check the runs first.`,
        );
      }
      if (apart.length > 0) {
        const are = apart.length === 1 ? `Line ${apart[0]} is` : `Lines ${apart.join(', ')} are`;
        terminal.warn(
          `rasket: ${are} not sent, but later lines were. Send ${apart.length === 1 ? 'it' : 'them'} separately.`,
        );
      }
      terminal.warn(`rasket: Stopped after line ${this.#line}. Continue with --from-line ${next}:`);
      terminal.warn(again(['--from-line', String(next)]));
    }
    if (this.#fault !== undefined) throw this.#fault as Error;
    if (isStopped) this.#session.fail();
    else if (this.#failed > 0) this.#session.fail(EXIT.refused);
  }
}

class LineFault extends Error {}

/** Refusals that concern only their own line. */
const OF_A_LINE = new Set([400, 404, 409, 413, 422]);
