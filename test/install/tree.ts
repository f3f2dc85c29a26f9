import { spawn, type ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');

/** A small copy of the program with stand-ins for npm and Node in its own PATH, so that installing costs nothing. */
export class Tree {
  readonly folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'rasket-install-')));
  readonly path = path.join(this.folder, 'path');
  #children: ChildProcess[] = [];

  constructor() {
    fs.mkdirSync(path.join(this.folder, 'bin'));
    for (const file of ['rasket', 'ensure-installed']) {
      fs.copyFileSync(path.join(root, 'bin', file), path.join(this.folder, 'bin', file));
    }
    this.write('package-lock.json', '{ "lockfileVersion": 3 }');
    this.standIn('node', `exec ${process.execPath} "$@"`);
    this.standIn('npm', 'echo "$*" >>npm-calls; mkdir -p node_modules; echo "npm did this"');
  }

  write(file: string, text: string, mode = 0o644): void {
    const at = path.join(this.folder, file);
    fs.mkdirSync(path.dirname(at), { recursive: true });
    fs.writeFileSync(at, text, { mode });
  }

  /** A command that this tree finds before the system's. */
  standIn(name: string, script: string): void {
    this.write(`path/${name}`, `#!/bin/sh\n${script}\n`, 0o755);
  }

  /** Puts the Node of this run where the dependencies would put theirs. */
  bringNode(): void {
    const at = path.join(this.folder, `node_modules/node-linux-${process.arch}/bin`);
    fs.mkdirSync(at, { recursive: true });
    fs.symlinkSync(process.execPath, path.join(at, 'node'));
  }

  /** Copies what makes builds of the program. */
  bringBuilder(): void {
    this.bringNode();
    for (const file of ['build.ts', 'build-plugins.ts', 'compiled.ts', 'compiled-program.ts', 'source-lines.ts']) {
      fs.copyFileSync(path.join(root, 'bin', file), path.join(this.folder, 'bin', file));
    }
    // Stack traces are read by it.
    fs.cpSync(path.join(root, 'src/program-files'), path.join(this.folder, 'src/program-files'), { recursive: true });
    for (const name of ['esbuild', '@esbuild']) {
      fs.symlinkSync(path.join(root, 'node_modules', name), path.join(this.folder, 'node_modules', name));
    }
  }

  markInstalled(mode: 'prod' | 'all'): void {
    fs.mkdirSync(path.join(this.folder, 'node_modules'), { recursive: true });
    const lockfile = path.join(this.folder, 'package-lock.json');
    fs.copyFileSync(lockfile, path.join(this.folder, `node_modules/.rasket-installed-${mode}`));
  }

  get npmCalls(): string[] {
    const log = path.join(this.folder, 'npm-calls');
    return fs.existsSync(log) ? fs.readFileSync(log, 'utf8').trim().split('\n') : [];
  }

  start(command: string, args: string[] = [], { cwd = this.folder, env = {} }: Surroundings = {}): Run {
    const surroundings = { PATH: `${this.path}:/usr/bin:/bin`, HOME: this.folder, ...env };
    const child = spawn(command, args, { cwd, env: surroundings, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#children.push(child);
    const run: Run = { child, stdout: '', stderr: '', ended: Promise.resolve(0) };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (run.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (run.stderr += text));
    run.ended = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve(code ?? -1));
    });
    return run;
  }

  remove(): void {
    for (const child of this.#children) child.kill('SIGKILL');
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

type Surroundings = { cwd?: string; env?: Record<string, string> };
export type Run = { child: ChildProcess; stdout: string; stderr: string; ended: Promise<number> };
