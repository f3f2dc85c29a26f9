import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from './tree.ts';

export interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Does what systemd would do with the unit: runs its command, as its account, with its variables and those of its file. Only
 * machines that ask for it give the unit its privilege. Every other order succeeds and does nothing.
 */
const systemctl = (hasPrivilege: boolean): string => `#!/bin/sh
unit=/etc/systemd/system/rasket.service
user=$(sed -n 's/^User=//p' $unit)
case "$*" in
  'enable --now rasket' | 'start rasket') ;;
  'restart rasket' | 'stop rasket')
    # Nobody here takes leave of a process that has ended, which has no program any more.
    pid=$(cat /var/lib/rasket/pid) && kill -TERM "$pid"
    while [ -e "/proc/$pid/exe" ]; do sleep 0.1; done
    [ "$1" = restart ] || exit 0
    ;;
  *) exit 0 ;;
esac
set -- $(sed -n 's/^ExecStart=//p' $unit)
cd /
caps=${hasPrivilege ? "$(sed -n 's/^AmbientCapabilities=CAP_/+/p' $unit | tr A-Z a-z)" : '-all'}
setsid setpriv --reuid="$user" --regid="$user" --init-groups --inh-caps="$caps" --ambient-caps="$caps" \
  env -i PATH="$PATH" $(sed -n 's/^Environment=//p' $unit) $(cat /etc/rasket/environment 2>/dev/null) \
  sh -c 'echo $$ >/var/lib/rasket/pid; exec "$@"' sh "$@" </dev/null >>/var/lib/service.log 2>&1 &
`;

// Its own /etc, /opt, /run, /var/lib and /usr/local/bin, and a network of its own, where port 3000 is free.
const SETUP = `
set -e
cp -a /etc "$AT/etc" && mount --bind "$AT/etc" /etc
for part in opt run var/lib usr/local/bin; do mkdir -p "$AT/$part" && mount --bind "$AT/$part" "/$part"; done
mkdir -p /opt/rasket/node_modules
cd "$CHECKOUT" && cp -R package.json package-lock.json bin src cli console migrations config systemd install.sh /opt/rasket/
mount --bind "$CHECKOUT/node_modules" /opt/rasket/node_modules
perl -e 'use Socket; socket(S, PF_INET, SOCK_DGRAM, 0); my $up = pack("a16 s", "lo", 0x41); ioctl(S, 0x8914, $up) or die $!'
cd / && echo ready && exec sleep infinity
`;

/** A machine within this one, for root alone: what is installed and started in it is gone with it. */
export class Machine {
  readonly folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'rasket-machine-')));
  #life: ChildProcess | undefined;
  #hasPrivilege: boolean;

  /** `hasPrivilege`: the service may open ports below 1024, as the unit lets it. */
  constructor({ hasPrivilege = false } = {}) {
    this.#hasPrivilege = hasPrivilege;
  }

  /** Returns whether this account may make one. */
  static isPossible(): boolean {
    return process.getuid?.() === 0 && spawnSync('unshare', ['-mn', 'true']).status === 0;
  }

  async start(): Promise<void> {
    fs.chmodSync(this.folder, 0o755);
    fs.mkdirSync(path.join(this.folder, 'tools'));
    // Asked for by install.sh, and not used where the dependencies are there already.
    for (const tool of ['npm', 'node']) this.#tool(tool, '#!/bin/sh\nexit 1\n');
    this.#tool('systemctl', systemctl(this.#hasPrivilege));
    this.#tool('journalctl', '#!/bin/sh\ncat /var/lib/service.log\n');
    const env = { ...process.env, AT: this.folder, CHECKOUT: root };
    // A kill of the shell kills every process in it.
    const words = ['-mn', '--propagation', 'private', '-fp', '--mount-proc', '--kill-child', 'sh', '-c', SETUP];
    const life = spawn('unshare', words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#life = life;
    let said = '';
    await new Promise<void>((done, fail) => {
      life.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
      life.stdout.on('data', () => done());
      life.once('exit', (code) => fail(new Error(`no machine (${code}): ${said}`)));
    });
  }

  #tool(name: string, script: string): void {
    fs.writeFileSync(path.join(this.folder, 'tools', name), script, { mode: 0o755 });
  }

  /** A line as root would type it there. */
  type(line: string, input = '', timeout = 120_000): Ended {
    const [shell] = fs.readFileSync(`/proc/${this.#life?.pid}/task/${this.#life?.pid}/children`, 'utf8').split(' ');
    const env = {
      PATH: `${this.folder}/tools:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
      HOME: `${this.folder}/home`,
      LC_ALL: 'C.UTF-8',
    };
    const words = ['-t', shell ?? '', '-m', '-n', '-p', 'sh', '-c', line];
    const { status, stdout, stderr } = spawnSync('nsenter', words, { env, input, encoding: 'utf8', timeout });
    return { status, stdout, stderr };
  }

  /** Returns whether a file is in one of the folders that the machine has for itself; asks without a process. */
  has(file: string): boolean {
    return fs.existsSync(path.join(this.folder, file));
  }

  async stop(): Promise<void> {
    const life = this.#life;
    if (life && life.exitCode === null) {
      const ended = new Promise((done) => life.once('exit', done));
      life.kill('SIGKILL');
      await ended;
    }
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}
