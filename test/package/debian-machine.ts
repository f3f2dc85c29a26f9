import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { vi } from 'vitest';
import { DEBIAN_ROOT } from '../peers/peers.ts';
import { root, type Ended } from './bare-root.ts';

/** The path of the checkout on the machine: the blank in it must do no harm. */
export const CHECKOUT = '/srv/a checkout';

// A machine's systemd wants version 2 of cgroups, which the host may have mounted otherwise; the mount is of this process alone.
const BOOT = `set -e
if [ "$(stat -fc %T /sys/fs/cgroup)" != cgroup2fs ]; then
  umount -R /sys/fs/cgroup
  mount -t cgroup2 none /sys/fs/cgroup
fi
mkdir "$GROUP" && echo 0 >"$GROUP/cgroup.procs"
exec systemd-nspawn --directory="$DEBIAN" --volatile=overlay --boot --private-network --register=no --keep-unit \\
  --quiet --console=pipe --bind-ro="$CHECKOUT:$AT"`;
const SWEEP = `[ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ] || { umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup; }
find "$GROUP" -depth -type d -exec rmdir {} +`;
const MAY_MOUNT = `mount -t cgroup2 none /mnt`;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** A Debian of its own with systemd as its first process, a network of its own and no Node.js. What is done in it lies in memory alone. */
export class DebianMachine {
  #life: ChildProcess | undefined;
  #group = `/sys/fs/cgroup/rasket-machine-${process.pid}`;
  #said = '';

  /** Returns whether this account may start one here. */
  static isPossible(): boolean {
    return process.getuid?.() === 0 && spawnSync('unshare', ['-m', 'sh', '-c', MAY_MOUNT]).status === 0;
  }

  async start(): Promise<void> {
    const env = { ...process.env, DEBIAN: DEBIAN_ROOT, CHECKOUT: root, AT: CHECKOUT, GROUP: this.#group };
    // The machine has a process namespace of its own, so that all of it ends with this process.
    const words = ['-m', '--propagation', 'private', '-fp', '--mount-proc', '--kill-child', 'sh', '-c', BOOT];
    const life = spawn('unshare', words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#life = life;
    for (const stream of [life.stdout, life.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (this.#said += text));
    await vi.waitFor(
      () => {
        if (life.exitCode !== null) return;
        const state = this.type('systemctl is-system-running').stdout.trim();
        if (state !== 'running') throw new Error(`the machine is ${state}: ${this.#said}`);
      },
      { timeout: 60_000, interval: 200 },
    );
    if (life.exitCode !== null) throw new Error(`no machine (${life.exitCode}): ${this.#said}`);
  }

  /** A line as root would type it there. */
  type(line: string, timeout = 120_000): Ended {
    const words = ['-t', this.#firstProcess(), '-m', '-u', '-i', '-n', '-p', '-C', 'sh', '-c', `cd / && { ${line}\n}`];
    const env = { PATH, HOME: '/root', LC_ALL: 'C.UTF-8', TERM: 'dumb' };
    const { status, stdout, stderr } = spawnSync('nsenter', words, { env, encoding: 'utf8', timeout });
    return { status, stdout, stderr };
  }

  /** A program of the host, with its files, on the network and among the processes of the machine: it ends with that. */
  startNeighbour(words: readonly string[]): ChildProcess {
    return spawn('nsenter', ['-t', this.#firstProcess(), '-n', '-p', ...words], { stdio: 'ignore' });
  }

  #firstProcess(): string {
    const readChild = (pid: string): string =>
      fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').at(-1) ?? '';
    return readChild(readChild(`${this.#life?.pid}`));
  }

  async stop(): Promise<void> {
    const life = this.#life;
    if (life && life.exitCode === null && life.signalCode === null) {
      const ended = once(life, 'exit');
      life.kill('SIGKILL');
      await ended;
    }
    const words = ['-m', '--propagation', 'private', 'sh', '-c', SWEEP];
    await vi.waitFor(
      () => {
        if (spawnSync('unshare', words, { env: { ...process.env, GROUP: this.#group } }).status !== 0)
          throw new Error('processes of the machine are left');
      },
      { interval: 100 },
    );
  }
}
