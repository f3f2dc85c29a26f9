import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Certificate } from '../rig/tls.ts';
import { freePort } from '../rig/free-port.ts';
import { findProgram } from './peers.ts';

export interface EximOptions {
  certificate: Certificate;
  /** The port of this machine that gets everything not for `example.org`, over TLS alone. */
  onwardPort?: number;
}

export interface Exim extends AsyncDisposable {
  port: number;
  /** The lines of its main log that match, as soon as there are `count` of them. */
  logged(pattern: RegExp, count?: number): Promise<string[]>;
  /** Hands it a message as a program of its machine does; it goes on by itself. */
  submit(envelope: { from: string; to: readonly string[] }, raw: string): void;
  /** Returns the mail that it has taken for `example.org`, in one file. */
  mail(): string;
}

const OWNER = 'Debian-exim';
const WAIT_MS = 45_000;

/** An Exim of this test's own: its folders are temporary, it listens on loopback only, and it asks no name server. */
export async function startExim({ certificate, onwardPort }: EximOptions): Promise<Exim> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'rasket-exim-'));
  const port = await freePort();
  const program = findProgram('exim4') ?? 'exim4';
  const [config, log, mailbox] = ['conf', 'log/main', 'mail/all'].map((name) => path.join(dir, name)) as [
    string,
    string,
    string,
  ];
  layOut(dir, certificate);
  writeFileSync(config, buildConfig(dir, port, onwardPort));
  // It stays in the foreground: its errors arrive here, and it ends with us.
  const master = spawn(program, ['-C', config, '-bdf', '-q1m'], { stdio: ['ignore', 'ignore', 'pipe'], env: {} });
  let said = '';
  master.stderr?.on('data', (piece: Buffer) => (said += piece.toString()));
  const lines = (): string[] => readFileSync(log, 'utf8').split('\n').slice(0, -1);

  const logged = (pattern: RegExp, count = 1): Promise<string[]> =>
    new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        watcher.close();
        master.off('exit', onExit);
        settle();
      };
      const fail = (why: string): void =>
        end(() => reject(new Error(`${why} before ${count} lines like ${pattern}.\n${said}${lines().join('\n')}`)));
      const check = (): void => {
        const found = lines().filter((line) => pattern.test(line));
        if (found.length >= count) end(() => resolve(found));
      };
      const onExit = (): void => fail('Exim ended');
      const timer = setTimeout(() => fail(`Exim took longer than ${WAIT_MS} ms`), WAIT_MS);
      const watcher = watch(log, check);
      master.once('exit', onExit);
      check();
    });

  const exim: Exim = {
    port,
    logged,
    submit({ from, to }, raw) {
      execFileSync(program, ['-C', config, '-oi', '-f', from, '--', ...to], { input: raw, env: {} });
    },
    mail: () => (existsSync(mailbox) ? readFileSync(mailbox, 'latin1') : ''),
    async [Symbol.asyncDispose]() {
      await ended(master);
      rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
    },
  };
  try {
    await logged(/daemon started/);
  } catch (error) {
    await exim[Symbol.asyncDispose]();
    throw error;
  }
  return exim;
}

function layOut(dir: string, { cert, key }: Certificate): void {
  const owner = Number(execFileSync('id', ['-u', OWNER]).toString());
  chmodSync(dir, 0o755);
  for (const folder of ['spool', 'log', 'mail']) {
    mkdirSync(path.join(dir, folder), { mode: 0o750 });
    chownSync(path.join(dir, folder), owner, -1);
  }
  for (const [name, text] of [
    ['log/main', ''],
    ['cert.pem', cert],
    ['key.pem', key],
  ] as const) {
    writeFileSync(path.join(dir, name), text, { mode: 0o600 });
    chownSync(path.join(dir, name), owner, -1);
  }
}

/** Its copy is not set-uid, so that everything behind the port is done as its own user. */
const buildConfig = (dir: string, port: number, onwardPort: number | undefined): string => `
primary_hostname = mx.exim.test
spool_directory = ${dir}/spool
log_file_path = ${dir}/log/%s
log_selector = +tls_cipher +smtp_confirmation
deliver_drop_privilege = true
disable_ipv6 = true
host_lookup =
rfc1413_hosts =
keep_environment =
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${port}
pid_file_path = ${dir}/spool/pid
tls_advertise_hosts = *
tls_certificate = ${dir}/cert.pem
tls_privatekey = ${dir}/key.pem
dsn_advertise_hosts = *
chunking_advertise_hosts =
acl_smtp_rcpt = recipients
qualify_domain = exim.test

begin acl
recipients:
  deny local_parts = unknown
       message = no such mailbox
  accept domains = example.org
  deny message = this Exim belongs to a test and passes nothing on

begin routers
mailboxes:
  driver = accept
  domains = example.org
  transport = mailbox
onward:
  driver = manualroute
  route_data = ${onwardPort === undefined ? '' : `127.0.0.1::${onwardPort}`}
  self = send
  transport = onward

begin transports
mailbox:
  driver = appendfile
  file = ${dir}/mail/all
  user = ${OWNER}
  batch_max = 50
  delivery_date_add
  envelope_to_add
  return_path_add
onward:
  driver = smtp
  hosts_require_tls = *
  tls_verify_hosts =
  tls_try_verify_hosts =

begin retry
* * F,1h,1s
`;

function ended(master: ChildProcess): Promise<void> {
  return new Promise((done) => {
    if (master.exitCode !== null || master.signalCode !== null) return done();
    master.once('exit', () => done());
    master.kill('SIGTERM');
  });
}
