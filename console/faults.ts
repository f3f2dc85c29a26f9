import { appendFileSync, mkdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ApiFault, NoAnswer, type OperationId, type Client } from '../cli/client/index.ts';
import { clean, explainFault, type KeyInUse, type FormatAdvice, type Translate } from '../cli/output/index.ts';

type CheckResponse = (operation: OperationId, answer: Heard) => readonly string[];

interface FaultsInput {
  version: string;
  /** Called once faults can be classified. */
  onReady: () => void;
  env: Readonly<Record<string, string | undefined>>;
  /** The key that is used now. */
  key?: () => KeyInUse;
  /** Returns how to word an advice here. */
  say?: () => FormatAdvice;
}

/** Shown until the contract is loaded, which happens only after a fault. */
export const LOOKING = 'Something cannot be shown; finding the reason …';

/** For this time the screen may show a response that was not rasket's. */
const STRANGE_MS = 30_000;
/** Upper bound for the different traces that a console stores. */
const TRACES = 20;

/**
 * Puts any fault into words, for a line of the screen: none ends the console. An unknown fault means that a response
 * had another shape, or that the console has a defect. The contract decides, by the last response to each operation;
 * the trace of a defect is written to a file.
 */
export class Faults {
  readonly #input: FaultsInput;
  readonly #answers = new Map<OperationId, Heard>();
  readonly #kept = new Map<string, string>();
  #judge: CheckResponse | undefined;
  #loading: Promise<void> | undefined;
  #waiting: unknown;
  #strangeUntil = 0;

  constructor(input: FaultsInput) {
    this.#input = input;
  }

  heard(operation: OperationId, answer: Heard): void {
    this.#answers.set(operation, answer);
  }

  inWords(error: unknown, inItsWords?: Translate): string {
    const { said, fault } = explain(error, inItsWords, this.#input);
    if (said !== undefined) return said;
    if (this.#judge) return this.#strange(this.#judge, fault) ?? this.#ofOurs(fault);
    this.#waiting = fault;
    void this.#load();
    return LOOKING;
  }

  /** Returns the message that replaces `LOOKING`. */
  waiting(): string {
    return this.inWords(this.#waiting);
  }

  /** Waits until the cause of a fault can be determined. */
  async ready(error: unknown): Promise<void> {
    if (explain(error).said === undefined) await this.#load();
  }

  /** Runs code that depends on responses, such as drawing; returns `instead` if it fails. */
  orInWords<T>(make: () => T, instead: (fault: string) => T): T {
    try {
      return make();
    } catch (error) {
      return instead(this.inWords(error));
    }
  }

  #load(): Promise<void> {
    return (this.#loading ??= this.#compile());
  }

  async #compile(): Promise<void> {
    const { compileValidators, loadContract } = await import('../src/contract/index.ts');
    const { validateAnswer } = await compileValidators(loadContract());
    this.#judge = validateAnswer;
    if (this.#waiting !== undefined) this.#input.onReady();
  }

  /** Returns a message if the server sent a response that is not rasket's; undefined if all responses are valid. */
  #strange(judge: CheckResponse, fault: unknown): string | undefined {
    for (const [operation, answer] of this.#answers) {
      if (judge(operation, answer).length > 0) this.#strangeUntil = Date.now() + STRANGE_MS;
    }
    if (Date.now() > this.#strangeUntil) return undefined;
    return clean(`The server sent a response that is not from rasket (${toMessage(fault)}).`);
  }

  #ofOurs(fault: unknown): string {
    return clean(`This is a bug in the console, not in the server (${toMessage(fault)}). ${this.#keep(fault)}`);
  }

  /** Drawing fails again and again: one trace of it is enough. */
  #keep(fault: unknown): string {
    const trace = (fault instanceof Error ? fault.stack : undefined) ?? String(fault);
    const known = this.#kept.get(trace);
    if (known !== undefined) return known;
    const said = this.#kept.size < TRACES ? this.#write(trace) : '';
    this.#kept.set(trace, said);
    return said;
  }

  #write(trace: string): string {
    const file = path.join(stateFolder(this.#input.env), 'console.log');
    try {
      mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
      const head = [new Date().toISOString(), 'rasket', `${this.#input.version}, Node.js ${process.version}`].join(' ');
      appendFileSync(file, `${head}\n${trace}\n\n`, { mode: 0o600 });
      return `The stack trace is in ${file}; the console keeps running.`;
    } catch (error) {
      return `The stack trace could not be saved: ${toMessage(error)}.`;
    }
  }
}

const stateFolder = (env: Readonly<Record<string, string | undefined>>): string =>
  path.join(env.XDG_STATE_HOME || path.join(env.HOME || os.homedir(), '.local', 'state'), 'rasket');

const toMessage = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault));

/** Separates a command from the text after it. */
function inALine(said: string, line: string): string {
  if (/[.!?]$/.test(said)) return `${said} ${line.trim()}`;
  return `${said}; ${line.trim().replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase())}`;
}

/** Explains a fault, or returns the one to investigate: a refusal may be of another shape too. */
function explain(
  error: unknown,
  translate?: Translate,
  { key, say }: Pick<FaultsInput, 'key' | 'say'> = {},
): { said?: string; fault?: unknown } {
  try {
    const [first, ...more] =
      explainFault(error, { translate, key: key?.(), ...(say ? { formatAdvices: say() } : {}) })?.lines ?? [];
    if (first === undefined) return { fault: error };
    // The message of the whole may be that of its first field.
    const isRepeated = (line: string): boolean => first.includes(line.trim().replace(/\.$/, ''));
    return { said: more.filter((line) => !isRepeated(line)).reduce(inALine, first) };
  } catch (found) {
    return { fault: found };
  }
}

interface Heard {
  /** Set for a refusal. */
  status?: number;
  body: unknown;
}

interface Watch {
  /** Called with the response, if the server responded in the way of this API. */
  heard: (operation: OperationId, answer?: Heard) => void;
  /** Called with the time since when nothing arrives, if not only now. */
  silent: (since?: number) => void;
}

/** A healthy server lists within a second. The time of other calls is unknown: some call other machines. */
const LATE_MS = 10_000;
const isQuick = (operation: OperationId): boolean => operation.startsWith('list') || operation === 'getHealth';

/** Returns a client that reports whether the server responds; a refusal is a response too. */
export function watchClient(client: Client, watch: Watch): Client {
  return {
    ...client,
    // The address may change.
    get url() {
      return client.url;
    },
    async call(operation, call, signal) {
      const began = Date.now();
      const late = isQuick(operation) ? setTimeout(() => watch.silent(began), LATE_MS).unref() : undefined;
      try {
        const answer = await client.call(operation, call, signal);
        watch.heard(operation, { body: answer });
        return answer;
      } catch (error) {
        if (error instanceof NoAnswer) watch.silent();
        else if (error instanceof ApiFault) watch.heard(operation, error);
        else if (!signal?.aborted) watch.heard(operation);
        throw error;
      } finally {
        clearTimeout(late);
      }
    },
  };
}
