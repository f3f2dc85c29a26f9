import { execFile } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { clockOfThisRun } from '../cli/desk.ts';
import { findProgram } from '../peers/peers.ts';
import { freePort } from '../rig/free-port.ts';
import { scratchFolder } from '../rig/scratch.ts';

const root = path.resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

/** A chapter at a terminal. Without tmux one test stands in its place and says so; where peers are required, it fails. */
export function describeAtTerminal(title: string, chapter: () => void): void {
  if (findProgram('tmux') !== undefined) return void describe(title, chapter);
  describe(title, () => {
    it('requires tmux', (context) => {
      if (process.env.RASKET_TEST_PEERS === 'required')
        throw new Error('RASKET_TEST_PEERS=required, but tmux is not installed');
      context.skip('tmux is not installed');
    });
  });
}

export interface SeatOptions {
  url: string;
  key: string;
  columns?: number;
  rows?: number;
  /** An undefined value takes a variable away. */
  env?: Record<string, string | undefined>;
  /** Runs in the console's process before it does. */
  preload?: string;
}

/** Somebody who sits at a terminal of their own with the console open: what they press, and what they see. */
export class Seat implements AsyncDisposable {
  readonly folder = fs.realpathSync(scratchFolder('rasket-seat-'));

  static async take({ url, key, columns = 80, rows = 24, env = {}, preload }: SeatOptions): Promise<Seat> {
    const seat = new Seat();
    const surroundings = {
      HOME: seat.folder,
      PATH: process.env.PATH ?? '',
      LC_ALL: 'C.UTF-8',
      TZ: 'UTC',
      TERM: 'xterm-256color',
      // Compiled code outlives one seat; without it every start costs twice the time.
      XDG_CACHE_HOME: path.join(os.tmpdir(), `rasket-cli-cache-${process.getuid?.() ?? 0}`),
      RASKET_URL: url,
      RASKET_API_KEY: key,
      RASKET_DATA: path.join(seat.folder, 'nowhere'),
      ...env,
      ...clockOfThisRun(),
    };
    if (preload !== undefined) {
      fs.writeFileSync(path.join(seat.folder, 'preload.mjs'), preload);
      Object.assign(surroundings, { NODE_OPTIONS: `--import ${path.join(seat.folder, 'preload.mjs')}` });
    }
    const settings = Object.entries(surroundings)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}='${value}'`);
    // The text before and after it shows whether the terminal was restored.
    const line = `echo what was there before; env -i ${settings.join(' ')} sh ${root}/bin/rasket console; echo "ended with $?"; stty -a | grep -o -- '-*icanon'; exec cat`;
    await seat.tmux(
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-s',
      'seat',
      '-x',
      String(columns),
      '-y',
      String(rows),
      line,
    );
    await seat.tmux('set', '-s', 'set-clipboard', 'on');
    await seat.hasBegun();
    return seat;
  }

  /** The first start after a change of the sources builds them, which takes as long as the machine has other work. */
  async hasBegun(): Promise<void> {
    await vi.waitFor(
      async () => expect((await this.frame()).replace('what was there before', '').trim()).not.toBe(''),
      {
        timeout: 60_000,
        interval: 100,
      },
    );
  }

  async tmux(...args: string[]): Promise<string> {
    const { stdout } = await run('tmux', ['-S', path.join(this.folder, 'tmux'), ...args]);
    return stdout;
  }

  /** Names of keys as tmux has them, such as `Enter` and `C-c`, or what is typed. */
  async press(...keys: string[]): Promise<void> {
    await this.tmux('send-keys', '-t', 'seat', ...keys);
  }

  async type(text: string): Promise<void> {
    await this.tmux('send-keys', '-t', 'seat', '-l', text);
  }

  async frame(withColours = false): Promise<string> {
    return this.tmux('capture-pane', '-p', ...(withColours ? ['-e'] : []), '-t', 'seat');
  }

  /** Waits until all of these are on the screen, and answers what is. */
  async sees(...wanted: (string | RegExp)[]): Promise<string> {
    return vi.waitFor(
      async () => {
        const frame = await this.frame();
        for (const one of wanted) expect(frame).toMatch(typeof one === 'string' ? literally(one) : one);
        return frame;
      },
      // Each look is a process of its own.
      { interval: 100 },
    );
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.tmux('resize-window', '-t', 'seat', '-x', String(columns), '-y', String(rows));
  }

  /** Returns whether the alternate screen is on, the cursor is shown, and a line continues on the next one. */
  async modes(): Promise<{ alternate: boolean; cursor: boolean; wraps: boolean }> {
    const said = await this.tmux('display', '-p', '-t', 'seat', '#{alternate_on} #{cursor_flag} #{wrap_flag}');
    const [alternate, cursor, wraps] = said.trim().split(' ');
    return { alternate: alternate === '1', cursor: cursor === '1', wraps: wraps === '1' };
  }

  /** The process of the console itself. */
  async pid(): Promise<number> {
    const shell = (await this.tmux('display', '-p', '-t', 'seat', '#{pane_pid}')).trim();
    return Number(fs.readFileSync(`/proc/${shell}/task/${shell}/children`, 'utf8').trim().split(' ')[0]);
  }

  clipboard(): Promise<string> {
    return this.tmux('show-buffer');
  }

  /** Expects the end, after which everybody sees their own terminal as it was, and returns its frame. */
  async isGivenBack(status: number): Promise<string> {
    const frame = await this.sees('what was there before', `ended with ${status}`, /^icanon$/m);
    // Nothing of the console is left on it.
    expect(frame).not.toContain('rasket 0.');
    expect(await this.modes()).toEqual({ alternate: false, cursor: true, wraps: true });
    return frame;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tmux('kill-server').catch(() => undefined);
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

export const literally = (text: string): RegExp => new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));

/** A way to a server that can be cut and mended, and on which answers can be kept waiting. */
export async function startLine(url: string) {
  const sockets = new Set<net.Socket>();
  let isHeld = false;
  const server = net.createServer((near) => {
    const far = net.connect(Number(new URL(url).port), '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(socket);
          near.destroy();
          far.destroy();
        });
    }
    near.pipe(far);
    far.on('data', (chunk) => (isHeld ? undefined : near.write(chunk)));
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve) => void server.listen(port, '127.0.0.1', () => resolve()));
  const port = await freePort();
  await listen(port);
  return {
    url: `http://127.0.0.1:${port}`,
    async cut(): Promise<void> {
      const isClosed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await isClosed;
    },
    mend: () => listen(port),
    /** Answers nothing from now on, and refuses nothing either. */
    hold(): void {
      isHeld = true;
    },
    close(): void {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
