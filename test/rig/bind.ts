import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { hasStarted, stopProgram } from './foreground.ts';
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
  /** Zone names and their whole files. */
  files?: Record<string, string>;
  algorithm?: Bind['key']['algorithm'];
  /** The name of a second key with the same secret, which may query zones but not change them. */
  reader?: string;
  /** Zones whose files are missing, so that queries get SERVFAIL. */
  broken?: readonly string[];
}

const run = promisify(execFile);

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
  const { files = {}, zones, broken = [] } = options;
  const texts = Object.entries(zones).map(([zone, lines]): [string, string] => [zone, zoneFile(zone, lines)]);
  for (const [zone, text] of [...texts, ...Object.entries(files)])
    writeFileSync(path.join(dir, 'zones', fileName(zone)), text);
  const file = path.join(dir, 'named.conf');
  writeFileSync(
    file,
    settings({ dir, port, key, ...options, zones: [...Object.keys(zones), ...Object.keys(files), ...broken] }),
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
      await stopProgram(child);
      rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
    },
    [Symbol.asyncDispose]: () => bind.close(),
  };
  try {
    await hasStarted(child, { name: 'BIND', said, isReady: (text) => / running$/m.test(text) });
  } catch (error) {
    await bind.close();
    throw error;
  }
  return bind;
}

/** Formats a zone with its SOA and NS. */
export function zoneFile(zone: string, lines: readonly string[]): string {
  const name = zone === '.' ? '.' : `${zone}.`;
  const below = zone === '.' ? '.' : `.${zone}.`;
  return [
    '$TTL 300',
    `${name} IN SOA ns${below} hostmaster${below} 1 3600 600 86400 60`,
    `${name} IN NS ns${below}`,
    `ns${below} IN A 127.0.0.1`,
    ...lines,
    '',
  ].join('\n');
}

const fileName = (zone: string): string => (zone === '.' ? 'root' : zone);

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
  type primary; file "zones/${fileName(zone)}"; allow-update { key "${key.name}"; }; allow-transfer { key "${key.name}"; };
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
