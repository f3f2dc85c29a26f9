import { execFileSync, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { root } from './bare-root.ts';

/** What a runtime for another architecture is kept as; a copy takes those that were fetched before. */
const RUNTIMES = 'node-linux-*';

/** A clone of this checkout with all changes that are not committed yet, in which releases are made. */
export class ReleaseCopy {
  readonly folder: string;
  readonly #home: string;

  constructor(parent: string) {
    this.folder = path.join(parent, 'copy');
    // Sockets of the agent have short paths only.
    this.#home = fs.mkdtempSync('/tmp/rasket-gpg-');
    execFileSync('git', ['clone', '--quiet', '--no-local', root, this.folder]);
    const changed = this.#list('diff', '--name-only', '-z', 'HEAD');
    for (const name of [...changed, ...this.#list('ls-files', '--others', '--exclude-standard', '-z')]) {
      fs.rmSync(this.at(name), { force: true });
      if (!fs.existsSync(path.join(root, name))) continue;
      fs.mkdirSync(path.dirname(this.at(name)), { recursive: true });
      fs.copyFileSync(path.join(root, name), this.at(name));
    }
    fs.symlinkSync(path.join(root, 'node_modules'), this.at('node_modules'));
    fs.appendFileSync(this.at('.git/info/exclude'), 'node_modules\n');
    fs.mkdirSync(this.at('.cache'));
    for (const name of fs.globSync(RUNTIMES, { cwd: path.join(root, '.cache') }))
      fs.symlinkSync(path.join(root, '.cache', name), this.at(`.cache/${name}`));
    this.commit('All changes');
  }

  at(name: string): string {
    return path.join(this.folder, name);
  }

  commit(message: string): void {
    const person = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
    this.git('add', '--all');
    this.git(...person, 'commit', '--quiet', '--allow-empty', '--message', message);
  }

  git(...words: string[]): string {
    return execFileSync('git', words, { cwd: this.folder, encoding: 'utf8' }).trim();
  }

  /** Makes a key of gpg, as the one of an apt repository, and returns its address. */
  makeAptKey(): string {
    const address = 'releases@example.com';
    const words = [
      '--batch',
      '--quiet',
      '--passphrase',
      '',
      '--quick-generate-key',
      address,
      'ed25519',
      'sign',
      'never',
    ];
    execFileSync('gpg', words, { env: this.#env(), stdio: ['ignore', 'ignore', 'pipe'] });
    return address;
  }

  release(variables: NodeJS.ProcessEnv = {}): SpawnSyncReturns<string> {
    // Compressing takes minutes, and is a matter of dpkg-deb alone.
    const words = ['packaging/release.ts', '--compress', 'none'];
    const env = { ...this.#env(), ...variables };
    return spawnSync(process.execPath, words, { cwd: this.folder, env, encoding: 'utf8' });
  }

  remove(): void {
    spawnSync('gpgconf', ['--kill', 'all'], { env: this.#env() });
    fs.rmSync(this.#home, { recursive: true, force: true });
  }

  #env(): NodeJS.ProcessEnv {
    // npm finds its registry by the home of the user.
    return { PATH: process.env['PATH'], HOME: process.env['HOME'], GNUPGHOME: this.#home };
  }

  #list(...words: string[]): string[] {
    return execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
  }
}
