// client --> rasket serve (on a disk that is lost without a flush, and comes back) --> sink
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApi } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import type { DnsRig } from '../rig/dns.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram, type LogLine, type Program } from './program.ts';

const AT_THE_DOT = 12;
const BEFORE_THE_DOT = 4;
const DOMAINS = [...'012345'].map((n) => `d${n}.example`).concat([...'0123'].map((n) => `e${n}.example`));

/**
 * EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH: data that was not synced is lost, as on a disk that was
 * unplugged.
 */
const CUT = `
import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))
`;

/** An ext4 file system in a file. */
class Disk {
  readonly #folder = scratchFolder('rasket-disk-', '/var/tmp');
  #image = path.join(this.#folder, 'image');
  readonly mount = path.join(this.#folder, 'mount');

  constructor() {
    mkdirSync(this.mount);
    execFileSync('truncate', ['--size=256M', this.#image]);
    execFileSync('mkfs.ext4', ['-q', this.#image]);
  }

  attach(): void {
    execFileSync('mount', ['-o', 'loop', this.#image, this.mount]);
  }

  detach(): void {
    execFileSync('umount', ['--lazy', this.mount]);
  }

  /**
   * Restores what was written to the disk, from a copy: mount namespaces of other processes may keep the shut-down file
   * system mounted, and a second mount of the same device would be that file system again.
   */
  comeBack(): void {
    this.detach();
    const kept = `${this.#image}-kept`;
    execFileSync('cp', ['--sparse=always', this.#image, kept]);
    this.#image = kept;
    this.attach();
  }

  sync(): void {
    execFileSync('sync', ['-f', this.mount]);
  }

  cut(): void {
    execFileSync('python3', ['-c', CUT, this.mount]);
  }

  remove(): void {
    try {
      this.detach();
    } catch {
      // It is not mounted.
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Returns why no such disk can be made here; undefined if it can. */
function whyNoDisk(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root mounts a file system';
  let disk: Disk | undefined;
  try {
    disk = new Disk();
    disk.attach();
    disk.cut();
    return undefined;
  } catch (error) {
    return `this machine cannot mount and shut down an ext4 file system in a file: ${String(error)}`;
  } finally {
    disk?.remove();
  }
}

// skipped on PostgreSQL, which has a disk of its own
describe.skipIf(driver === 'pg')('a disk that is lost and comes back without a reboot', () => {
  const reason = whyNoDisk();

  it(
    'does not make a message at its final dot be sent twice, and earlier messages are sent',
    { timeout: 300_000 },
    async (ctx) => {
      if (reason !== undefined) {
        // A machine of the CI can make one, as root.
        if (process.env.RASKET_TEST_PEERS === 'required' && process.getuid?.() === 0)
          throw new Error(`RASKET_TEST_PEERS=required, but ${reason}`);
        // skipped because such a disk cannot be had, which the reason explains
        ctx.skip(reason);
      }
      const disk = new Disk();
      onTestFinished(() => disk.remove());
      disk.attach();
      const arrivals = new Map<string, number>();
      const sink = await startSink({
        onMessage({ data }) {
          const id = /^message-id: *<([^@]+)@/im.exec(data.toString('latin1'))?.[1] ?? 'no Message-ID';
          arrivals.set(id, (arrivals.get(id) ?? 0) + 1);
        },
      });
      onTestFinished(() => sink.close());
      let recovered: LogLine | undefined;
      const watch = (line: LogLine): void => {
        if (line.msg === 'took back deliveries of an earlier process') recovered = line;
      };
      // Mail servers of their own for each domain, because one set of them gets few connections at first.
      const publish = (dns: DnsRig): void => {
        for (const domain of DOMAINS) {
          dns.set(domain, 'MX', [`10 mx.${domain}`]);
          dns.set(`mx.${domain}`, 'A', ['127.0.0.1']);
        }
      };
      const program = await installProgram(sink, watch, { folder: disk.mount, publish });

      // The slots are copied to the disk as they are now, without later ones.
      const first = await send(program, 'first@one.example');
      await sink.waitFor(1);
      disk.sync();
      const sent: string[] = [];
      for (let n = 0; n < AT_THE_DOT; n++) sent.push(await send(program, `slow+${n}@d${n % 6}.example`));
      for (let n = 0; n < BEFORE_THE_DOT; n++) sent.push(await send(program, `slow-rcpt+${n}@e${n}.example`));
      await expect.poll(() => sink.held()).toBe(AT_THE_DOT + BEFORE_THE_DOT);

      disk.cut();
      await program.kill();
      disk.detach();
      disk.attach();
      // The message at its final dot was accepted, though no client learns of it.
      sink.openGate();
      await program.start();
      expect(recovered).toMatchObject({ released: BEFORE_THE_DOT, inDoubt: AT_THE_DOT });
      await expect.poll(() => [first, ...sent].filter((id) => !arrivals.has(id))).toEqual([]);
      await program.stop();
      expect([...arrivals].filter(([, times]) => times > 1)).toEqual([]);
      expect(arrivals.size).toBe(1 + sent.length);
    },
  );
});

async function send(program: Program, to: string): Promise<string> {
  const api = createApi(await program.listening());
  const body = { from: program.from, to, subject: 'Hello', text: 'It works.' };
  const { status, body: answer } = await api('POST', '/emails', { key: program.apiKey, body });
  expect(status).toBe(200);
  return answer.id as string;
}
