import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

export const root: string = path.resolve(import.meta.dirname, '../..');
export const file: string = path.join(root, 'dist/rasket');

export interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Read-only but for /data, with a /tmp where nothing may be run; the rest is the host's kernel and network. */
const ENTER = `set -e
mount --bind "$AT" "$AT"
mount --rbind /proc "$AT/proc"
mount --rbind /dev "$AT/dev"
mount -t tmpfs -o noexec tmpfs "$AT/tmp"
mount --bind "$DATA" "$AT/data"
mount -o remount,ro,bind "$AT"
exec env -i $VARIABLES "$(command -v chroot)" "$AT" /rasket "$@"`;

/** A root that holds the single file, the C libraries it names, and nothing else: no Node.js, no shell, no checkout. */
export class BareRoot {
  readonly #folder: string;
  readonly data: string;

  constructor(folder: string) {
    this.#folder = path.join(folder, 'root');
    this.data = path.join(folder, 'data');
    for (const name of ['proc', 'dev', 'tmp', 'data', 'etc'])
      fs.mkdirSync(path.join(this.#folder, name), { recursive: true });
    fs.mkdirSync(this.data, { recursive: true, mode: 0o700 });
    fs.copyFileSync(file, path.join(this.#folder, 'rasket'));
    for (const library of readLibraries(file)) {
      fs.mkdirSync(path.join(this.#folder, path.dirname(library)), { recursive: true });
      fs.copyFileSync(library, path.join(this.#folder, library));
    }
  }

  static isPossible(): boolean {
    return spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt']).status === 0;
  }

  run(words: readonly string[], variables = '', input = ''): Ended {
    const { status, stdout, stderr } = spawnSync('unshare', this.enter(words), {
      env: this.#env(variables),
      input,
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  }

  start(words: readonly string[]): ChildProcess {
    return spawn('unshare', this.enter(words), { env: this.#env(''), stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** Returns the command that starts it by hand, in a terminal. */
  line(words: readonly string[], variables: string): { words: string[]; env: NodeJS.ProcessEnv } {
    return { words: ['unshare', ...this.enter(words)], env: this.#env(variables) };
  }

  enter(words: readonly string[]): string[] {
    return ['-rm', '--propagation', 'private', 'sh', '-c', ENTER, 'sh', ...words];
  }

  #env(variables: string): NodeJS.ProcessEnv {
    return { PATH: process.env['PATH'], AT: this.#folder, DATA: this.data, VARIABLES: variables };
  }
}

const readLibraries = (program: string): string[] =>
  [...execFileSync('ldd', [program], { encoding: 'utf8' }).matchAll(/(\/\S+) \(0x/g)].map(([, name = '']) => name);
