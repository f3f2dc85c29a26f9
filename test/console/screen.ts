import fs from 'node:fs';
import { PassThrough, Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { render as Render } from 'ink';
import { expect, vi } from 'vitest';
import { createClient, findTarget, mustRun } from '../../cli/client/index.ts';
import { loadTsx } from '../../cli/commands/load-tsx.ts';
import { openTerminal } from '../../cli/output/index.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { version } from '../cli/in-process.ts';
import { literally, type SeatOptions } from './seat.ts';

await loadTsx();
// `rasket console` sets this before it loads React, whose development build takes twice the time.
const { NODE_ENV } = process.env;
process.env.NODE_ENV = 'production';
const [{ render }, { createConsole }] = await Promise.all([import('ink'), import('../../console/main.tsx')]);
process.env.NODE_ENV = NODE_ENV;

type Drawn = ReturnType<typeof Render>;

/** The bytes that a terminal sends for the keys that are no characters, by their names in tmux. */
const KEYS: Readonly<Record<string, string>> = {
  Enter: '\r',
  Escape: '\u001B',
  Tab: '\t',
  BTab: '\u001B[Z',
  BSpace: '\u007F',
  Space: ' ',
  Up: '\u001B[A',
  Down: '\u001B[B',
  Right: '\u001B[C',
  Left: '\u001B[D',
  Home: '\u001B[1~',
  End: '\u001B[4~',
  PageUp: '\u001B[5~',
  PageDown: '\u001B[6~',
};

const sentFor = (key: string): string => {
  const letter = /^C-([a-z])$/.exec(key)?.[1];
  return letter === undefined ? (KEYS[key] ?? key) : String.fromCharCode(letter.charCodeAt(0) - 96);
};

/** The pause between two keys and two looks: nobody types faster, and Ink waits 20 ms for what may follow an Esc. */
const PAUSE_MS = 30;

/**
 * The console drawn in this process, used as a `Seat` is. It is what the console draws and how it answers to keys; what a
 * terminal makes of it is looked at with a `Seat`.
 */
export class Screen implements AsyncDisposable {
  readonly folder = fs.realpathSync(scratchFolder('rasket-seat-'));
  readonly #stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode() {}, ref() {}, unref() {} });
  readonly #stdout: Writable & { isTTY: boolean; columns: number; rows: number };
  #drawn: Drawn | undefined;
  #close = (): void => undefined;
  #frame = '';
  #clipboard = '';

  private constructor(columns: number, rows: number) {
    const write = (chunk: Buffer, _: string, done: () => void): void => {
      this.#written(chunk.toString('utf8'));
      done();
    };
    this.#stdout = Object.assign(new Writable({ write }), { isTTY: true, columns, rows });
  }

  static async take({ url, key, columns = 80, rows = 24, env: more = {} }: SeatOptions): Promise<Screen> {
    const screen = new Screen(columns, rows);
    const { folder } = screen;
    const env = { HOME: folder, RASKET_URL: url, RASKET_API_KEY: key, RASKET_DATA: `${folder}/nowhere`, ...more };
    const tty = {
      stdin: screen.#stdin as unknown as NodeJS.ReadStream,
      stdout: screen.#stdout as unknown as NodeJS.WriteStream & { fd: number },
    };
    const target = findTarget({ env });
    const client = createClient({ ...target, version, mustBeThere: mustRun(target.development) });
    const terminal = openTerminal({ out: tty.stdout, err: tty.stdout, env });
    const { app, navigator } = createConsole(
      { client, target, terminal, version, env, ...tty },
      { end: () => screen.#leave() },
    );
    screen.#close = () => navigator.close();
    // With `debug`, Ink writes each frame whole, and nothing between two of them.
    screen.#drawn = render(app, { ...tty, debug: true, interactive: true, exitOnCtrlC: false, patchConsole: false });
    return screen;
  }

  #written(text: string): void {
    const copied = /^\u001B\]52;c;(.*)\u0007$/.exec(text)?.[1];
    if (copied !== undefined) this.#clipboard = Buffer.from(copied, 'base64').toString('utf8');
    const shown = stripVTControlCharacters(text);
    if (shown.trim() !== '') this.#frame = shown;
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) {
      this.#stdin.write(sentFor(key));
      await wait(PAUSE_MS);
    }
  }

  async type(text: string): Promise<void> {
    this.#stdin.write(text);
    await wait(PAUSE_MS);
  }

  async paste(text: string): Promise<void> {
    this.#stdin.write(`\u001B[200~${text}\u001B[201~`);
  }

  /** Returns the frame a moment later, so that two equal frames mean that it stays. */
  async frame(): Promise<string> {
    await wait(PAUSE_MS);
    return `${this.#frame}\n`;
  }

  /** Waits until all of these are on the screen, and answers what is. */
  async sees(...wanted: (string | RegExp)[]): Promise<string> {
    return vi.waitFor(
      () => {
        const frame = `${this.#frame}\n`;
        for (const one of wanted) expect(frame).toMatch(typeof one === 'string' ? literally(one) : one);
        return frame;
      },
      { interval: 10 },
    );
  }

  async resize(columns: number, rows: number): Promise<void> {
    Object.assign(this.#stdout, { columns, rows }).emit('resize');
  }

  async clipboard(): Promise<string> {
    return this.#clipboard;
  }

  /** Waits until it has ended of itself. */
  async isLeft(): Promise<void> {
    await this.#drawn?.waitUntilExit();
  }

  #leave(): void {
    this.#close();
    this.#drawn?.unmount();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leave();
    await this.#drawn?.waitUntilExit();
    this.#stdin.destroy();
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}
