import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { fitProse } from '../../cli/output/prose.ts';
import { OperatorFault } from '../explain.ts';
import { canonicalAddress, type Found } from './this-machine.ts';
import { isIP } from 'node:net';
import { ConfigFault, loadConfig, type Config, type DeepPartial } from '../../src/platform/config/index.ts';

interface Question<T> {
  /** The flag that answers the question, as it is typed. */
  flag: string;
  /** The name of the value, shown before a colon. */
  label: string;
  /** Sentences in front of the question, for the person who answers it. */
  says?: string | undefined;
  given?: string | undefined;
  found?: Found<string> | undefined;
  /** Hides the characters that are typed. */
  isSecret?: boolean;
  /** Parses the value; throws if it is invalid. */
  read(text: string): T;
}

export interface Asker {
  /** True when a person can answer. */
  readonly isInteractive: boolean;
  ask<T>(question: Question<T>): Promise<T>;
  /** Asks for consent; only at a terminal. */
  agree(question: string, enter?: 'yes' | 'no'): Promise<boolean>;
  print(text: string): void;
  close(): void;
}

/** An invalid value: says what it must be, without the name of the flag. */
export class Unfit extends Error {
  override readonly name = 'Unfit';
}

interface AskerOptions {
  isYes: boolean;
  /** Prints only the result of the command to standard output. */
  isQuiet?: boolean;
}

/** Asks the person at the terminal, or takes the values of flags. */
export function createAsker({ isYes, isQuiet = false }: AskerOptions): Asker {
  const isInteractive = !isYes && process.stdin.isTTY && process.stderr.isTTY;
  const print = (text: string): void => {
    const out = isQuiet ? process.stderr : process.stdout;
    out.write(`${out.isTTY ? fitProse(text, out.columns || 80) : text}\n`);
  };
  const lines = isInteractive ? openLines() : undefined;

  async function ask<T>(question: Question<T>): Promise<T> {
    const { flag, label, given, found, says, isSecret = false } = question;
    if (given !== undefined) return readGiven(question, given);
    if (lines === undefined) {
      if (found === undefined || !isYes) throw unanswered(question);
      print(`${label}: ${found.value}  (${found.from})`);
      return readGiven({ ...question, flag: `${flag} (${found.from})` }, found.value);
    }
    if (says !== undefined) print(`\n${says}`);
    if (found !== undefined) print(`Found: ${found.value || 'none'}  (${found.from})`);
    for (;;) {
      const prompt = `${label}${found === undefined ? '' : ` [${found.value || 'none'}]`}: `;
      const line = await lines.next(prompt, isSecret);
      const typed = isSecret ? line : line.trim();
      try {
        return question.read(typed === '' ? (found?.value ?? '') : typed);
      } catch (error) {
        print(`Invalid answer: ${formatReason(error)}.`);
      }
    }
  }

  return {
    isInteractive,
    ask,
    print,
    async agree(question, enter = 'yes') {
      if (lines === undefined) return true;
      const typed = (await lines.next(`${question} ${enter === 'yes' ? '[Y/n]' : '[y/N]'} `)).trim();
      return /^y(es)?$/i.test(typed === '' ? enter : typed);
    },
    close: () => lines?.close(),
  };
}

function readGiven<T>({ flag, read }: Question<T>, text: string): T {
  try {
    return read(text);
  } catch (error) {
    throw new OperatorFault(`${flag}: ${formatReason(error)}; got ${JSON.stringify(text.slice(0, 80))}`, 'usage');
  }
}

/** Returns the reason of a refusal as a sentence of its own. */
function formatReason(error: unknown): string {
  if (error instanceof Error && (error.name === 'Unfit' || error.name === 'Refusal'))
    return error.message.replace(/^(name|email): /, '').replace(/\.$/, '');
  throw error;
}

function unanswered({ flag, label, found }: Pick<Question<unknown>, 'flag' | 'label' | 'found'>): OperatorFault {
  const offer =
    found === undefined
      ? ''
      : ` (found: ${found.value || 'none'}, ${found.from}; --yes accepts all values that were found)`;
  return new OperatorFault(`${label}: there is no terminal to ask at; give it with ${flag}${offer}`, 'usage');
}

interface Lines {
  /** A secret is not shown while it is typed. */
  next(prompt: string, isSecret?: boolean): Promise<string>;
  close(): void;
}

/** One reader for all questions: text typed ahead of a question becomes its answer. */
function openLines(): Lines {
  const screen = { isHidden: false };
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!screen.isHidden) process.stderr.write(chunk);
      done();
    },
  });
  const reader = createInterface({
    input: process.stdin,
    output: Object.assign(output, { columns: process.stderr.columns }),
    terminal: true,
  });
  const typed: string[] = [];
  let isOver = false;
  let waiting: { resolve: (line: string) => void; reject: (error: unknown) => void } | undefined;
  const over = (): OperatorFault =>
    new OperatorFault('canceled; what was done so far stays, and you can run rasket setup again');
  reader.on('line', (line) => {
    if (screen.isHidden) process.stderr.write('\n');
    screen.isHidden = false;
    if (waiting) waiting.resolve(line);
    else typed.push(line);
    waiting = undefined;
  });
  reader.on('SIGINT', () => {
    process.stderr.write('\n');
    reader.close();
  });
  reader.on('close', () => {
    isOver = true;
    waiting?.reject(over());
    waiting = undefined;
  });
  return {
    async next(prompt, isSecret = false) {
      const ahead = typed.shift();
      if (ahead !== undefined) {
        process.stderr.write(`${prompt}${isSecret ? '' : ahead}\n`);
        return ahead;
      }
      if (isOver) throw over();
      reader.setPrompt(prompt);
      reader.prompt();
      screen.isHidden = isSecret;
      return new Promise<string>((resolve, reject) => (waiting = { resolve, reject }));
    },
    close: () => reader.close(),
  };
}

type Overrides = DeepPartial<Config>;

/** Checks a value by the rules of the settings; the fault names the flag instead of the setting. */
function mustFit(key: string, overrides: Overrides, isServing = false): void {
  try {
    loadConfig({ env: {}, overrides, isServing });
  } catch (error) {
    if (!(error instanceof ConfigFault)) throw error;
    const [first = ''] = error.faults;
    const says = first
      .replace(`override: ${key} `, '')
      .replace(/; got .*$/, '')
      // Which line of which file to write is what this command is for.
      .replace(/\. Give this machine's public name.*$/, '');
    throw new Unfit(says);
  }
}

export const hostReader =
  (network: Config['network']) =>
  (text: string): string => {
    const host = text.toLowerCase().replace(/\.$/, '');
    mustFit('instance.host', { instance: { host } });
    mustFit('instance.host', { instance: { host }, network }, true);
    return host;
  };

const ADDRESSES_MAX = 16;

export function readAddresses(text: string): string[] {
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  if (words.length === 0 || words.length > ADDRESSES_MAX)
    throw new Unfit(`must be 1 to ${ADDRESSES_MAX} addresses, such as 192.0.2.10`);
  return [...new Set(words.map(readAddress))];
}

function readAddress(word: string): string {
  if (isIP(word) === 0 || word.includes('%')) throw new Unfit('must be an IPv4 or IPv6 address, such as 192.0.2.10');
  const address = canonicalAddress(word);
  if (/^(127\.|0\.|169\.254\.|::1?$|fe80:|ff)/i.test(address))
    throw new Unfit(`must be an address at which others reach this machine; ${address} is not`);
  return address;
}

const PORT_MAX = 65_535;

export function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > PORT_MAX) throw new Unfit(`must be a TCP port from 1 to ${PORT_MAX}`);
  return port;
}

export function readHttps(text: string): 'own' | 'proxy' | 'none' | number {
  if (text === 'own' || text === 'proxy' || text === 'none') return text;
  if (!/^\d+$/.test(text)) throw new Unfit('must be own, proxy, none or a port such as 8443');
  return readPort(text);
}

export function readRelayHost(text: string): string {
  if (text === '') throw new Unfit('must be a host name, such as smtp.example.com:587');
  mustFit('relays.main.host', { relays: { main: { host: text } } });
  return text;
}

export function readSpfInclude(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/^include:/, '')
    .replace(/\.$/, '');
  if (/^(?=.{1,100}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})+$/.test(name)) return name;
  throw new Unfit('must be a domain name, such as amazonses.com');
}

export const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory';

export function readDirectory(text: string): string {
  mustFit('acme.directory', { acme: { directory: text, agree_to_terms: true } });
  return text;
}

export function readContact(text: string): string {
  mustFit('acme.contact', { acme: { contact: text } });
  return text;
}
