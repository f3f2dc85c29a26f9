import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';

export interface Bind extends AsyncDisposable {
  port: number;
  /** The address in the form of `dns.servers`. */
  server: string;
  key: { name: string; algorithm: 'hmac-sha256' | 'hmac-sha384' | 'hmac-sha512'; secret: string };
  /** Returns every record of a zone but the SOA, whose serial counts updates, as sorted lines, by a signed transfer. */
  dump(zone: string): Promise<string[]>;
  /** Applies lines of `nsupdate`, such as `update add name. 60 TXT "text"`, like someone else who changes the zone. */
  update(zone: string, ...lines: string[]): Promise<void>;
  log(): string;
  close(): Promise<void>;
}

export interface BindOptions {
  named: string;
  /** Zone names and their lines in addition to SOA and NS. */
  zones: Record<string, string[]>;
  algorithm?: Bind['key']['algorithm'];
  /** The name of a second key with the same secret, which may query zones but not change them. */
  reader?: string;
  /** Zones whose files are missing, so that queries get SERVFAIL. */
  broken?: readonly string[];
}

const run = promisify(execFile);
const START_MS = 45_000;
const STOP_MS = 45_000;

/** Starts a BIND of this test's own, in the foreground, on loopback, with its files in a temporary folder. */
export async function startBind(options: BindOptions): Promise<Bind> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'rasket-bind-'));
  const port = await freePort();
  const key: Bind['key'] = {
    name: 'rasket-test',
    algorithm: options.algorithm ?? 'hmac-sha256',
    secret: Buffer.alloc(32, 'bind').toString('base64'),
  };
  mkdirSync(path.join(dir, 'zones'));
  for (const [zone, lines] of Object.entries(options.zones)) writeZone(dir, zone, lines);
  const file = path.join(dir, 'named.conf');
  writeFileSync(
    file,
    settings({ dir, port, key, ...options, zones: [...Object.keys(options.zones), ...(options.broken ?? [])] }),
    { mode: 0o600 },
  );
  const said: string[] = [];
  const child = spawn(options.named, ['-g', '-c', file, '-p', String(port)], { stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr.setEncoding('utf8').on('data', (text: string) => said.push(text));

  const bind: Bind = {
    port,
    server: `127.0.0.1:${port}`,
    key,
    log: () => said.join(''),
    async dump(zone) {
      const signed = ['-y', `${key.algorithm}:${key.name}:${key.secret}`];
      const { stdout } = await run('dig', [
        '@127.0.0.1',
        '-p',
        String(port),
        zone,
        'AXFR',
        '+noall',
        '+answer',
        ...signed,
      ]);
      const lines = stdout.split('\n').map((line) => line.replaceAll(/\s+/g, ' '));
      return lines.filter((line) => line !== '' && !/ (?:SOA|TSIG) /.test(line) && !line.startsWith(';')).sort();
    },
    async update(zone, ...lines) {
      const script = ['server 127.0.0.1 ' + port, `zone ${zone}`, ...lines, 'send', ''].join('\n');
      const done = run('nsupdate', ['-y', `${key.algorithm}:${key.name}:${key.secret}`]);
      done.child.stdin?.end(script);
      await done;
    },
    async close() {
      await stop(child);
      rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
    },
    [Symbol.asyncDispose]: () => bind.close(),
  };
  try {
    await hasStarted(child, said);
  } catch (error) {
    await bind.close();
    throw error;
  }
  return bind;
}

function writeZone(dir: string, zone: string, lines: readonly string[]): void {
  const text = [
    '$TTL 300',
    `${zone}. IN SOA ns.${zone}. hostmaster.${zone}. 1 3600 600 86400 60`,
    `${zone}. IN NS ns.${zone}.`,
    `ns.${zone}. IN A 127.0.0.1`,
    ...lines,
    '',
  ];
  writeFileSync(path.join(dir, 'zones', zone), text.join('\n'));
}

function settings({
  dir,
  port,
  key,
  zones,
  reader,
}: {
  dir: string;
  port: number;
  key: Bind['key'];
  zones: string[];
  reader?: string;
}): string {
  const keys = [key.name, ...(reader === undefined ? [] : [reader])];
  const named = keys.map((name) => `key "${name}" { algorithm ${key.algorithm}; secret "${key.secret}"; };`);
  const section = (zone: string): string => `zone "${zone}" {
  type primary; file "zones/${zone}"; allow-update { key "${key.name}"; }; allow-transfer { key "${key.name}"; };
};`;
  return `options {
  directory "${dir}"; pid-file none; session-keyfile none; lock-file none;
  listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; };
  recursion no; notify no; dnssec-validation no; allow-query { 127.0.0.0/8; };
};
controls { };
${named.join('\n')}
${zones.map(section).join('\n')}
`;
}

async function hasStarted(child: ChildProcess, said: readonly string[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (what: string): void => reject(new Error(`BIND ${what}:\n${said.join('')}`));
      timer = setTimeout(() => fail(`did not start within ${START_MS} ms`), START_MS);
      child.once('error', (error) => fail(`cannot be started, ${error.message}`));
      child.once('exit', (code) => fail(`ended by itself with ${code}`));
      child.stderr?.on('data', () => {
        if (/ running$/m.test(said.join(''))) resolve();
      });
    });
  } finally {
    clearTimeout(timer);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(timer);
}
