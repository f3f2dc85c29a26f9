import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { buffer, json } from 'node:stream/consumers';
import { findProgram } from './find-program.ts';

/** The facts that a receiving mail server knows of a message. */
export interface Arrival {
  ip: string;
  helo: string;
  mailFrom: string;
  rcptTo: readonly string[];
  data: Buffer;
}

/** A spam filter of this test's own, at a socket in a folder of its own, that asks no name server but the test's. */
export interface SpamFilter {
  /** Lists the rules that fire for a message, in alphabetical order. */
  judge(arrival: Arrival): Promise<string[]>;
  close(): Promise<void>;
}

const START_MS = 90_000;
const RECEIVER = 'mx.reader.example';

/** The plugins that the package of SpamAssassin loads, without those that ask services of others or that learn. */
const SPAMASSASSIN_PLUGINS = [
  'AskDNS',
  'BodyEval',
  'Check',
  'DKIM',
  'DNSEval',
  'FreeMail',
  'HTMLEval',
  'HTTPSMismatch',
  'HeaderEval',
  'ImageInfo',
  'MIMEEval',
  'MIMEHeader',
  'RelayEval',
  'ReplaceTags',
  'SPF',
  'URIDNSBL',
  'URIDetail',
  'URIEval',
  'VBounce',
  'WLBLEval',
  'WelcomeListSubject',
];

/** Starts SpamAssassin's server with the rules of its package, and its checks of DKIM and SPF. */
export async function startSpamAssassin(dnsPort: number): Promise<SpamFilter> {
  const dir = makeFolder('rasket-spamd-', 'nobody');
  const site = path.join(dir, 'site');
  mkdirSync(site, { mode: 0o755 });
  writeLines(path.join(site, 'plugins.pre'), [
    'enable_compat welcomelist_blocklist',
    ...SPAMASSASSIN_PLUGINS.map((name) => `loadplugin Mail::SpamAssassin::Plugin::${name}`),
  ]);
  writeLines(path.join(site, 'local.cf'), [
    'dns_available yes',
    `dns_server 127.0.0.1:${dnsPort}`,
    'use_bayes 0',
    'skip_rbl_checks 1',
    'skip_uribl_checks 1',
    'trusted_networks 127.0.0.1',
  ]);
  const socketPath = path.join(dir, 'socket');
  const options = [
    `--socketpath=${socketPath}`,
    '--syslog=stderr',
    `--pidfile=${dir}/pid`,
    `--helper-home-dir=${dir}`,
    '--nouser-config',
    '--min-children=1',
    '--max-children=2',
    `--siteconfigpath=${site}`,
    // The rules of the package are used, also when newer ones were fetched.
    '--configpath=/usr/share/spamassassin',
    ...(process.getuid?.() === 0 ? ['--username=nobody'] : []),
  ];
  const close = await startServer('spamd', options, { dir, started: /server started on/ });
  return { judge: (arrival) => askSpamd(socketPath, arrival), close };
}

/** Speaks the protocol of spamc: a head, and the message as a mail server has stored it. */
async function askSpamd(socketPath: string, { ip, helo, mailFrom, rcptTo, data }: Arrival): Promise<string[]> {
  const date = /^Date: (.*)\r$/m.exec(data.toString('latin1'))?.[1] ?? new Date().toUTCString().replace('GMT', '+0000');
  const trace = [
    `Return-Path: <${mailFrom}>`,
    `Received: from ${helo} (${helo} [${ip}])`,
    `\tby ${RECEIVER} (Postfix) with ESMTPS id 4TkYkB2ZQ3z1234`,
    `\tfor <${rcptTo[0] ?? ''}>; ${date}`,
    '',
  ];
  const stored = Buffer.concat([Buffer.from(trace.join('\r\n')), data]);
  const socket = net.connect({ path: socketPath });
  socket.end(Buffer.concat([Buffer.from(`SYMBOLS SPAMC/1.5\r\nContent-length: ${stored.length}\r\n\r\n`), stored]));
  const answer = (await buffer(socket)).toString();
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  if (!/^SPAMD\/\S+ 0 /.test(head)) throw new Error(`spamd answered ${JSON.stringify(answer)}`);
  return body.trim().split(',').toSorted();
}

const RSPAMD_CONFIG = '/etc/rspamd/rspamd.conf';

/** The modules of rspamd that ask services of others, need a database or learn. */
const RSPAMD_WITHOUT = [
  'asn',
  'fuzzy_check',
  'greylist',
  'mx_check',
  'neural',
  'ratelimit',
  'rbl',
  'rspamd_update',
  'surbl',
];

/** Starts rspamd with the rules of its package, and its checks of DKIM, SPF and DMARC. */
export async function startRspamd(dnsPort: number): Promise<SpamFilter> {
  const dir = makeFolder('rasket-rspamd-', '_rspamd');
  const socketPath = path.join(dir, 'socket');
  const override = path.join(dir, 'override.d');
  mkdirSync(override, { mode: 0o755 });
  writeLines(path.join(override, 'options.inc'), [
    `dns { nameserver = ["127.0.0.1:${dnsPort}"]; timeout = 5s; }`,
    `tempdir = "${dir}";`,
    'rrd = "";',
    // To compile the suffixes of all domains, and all expressions, takes half a minute.
    `url_tld = "${dir}/suffixes";`,
    'disable_hyperscan = true;',
  ]);
  writeLines(path.join(dir, 'suffixes'), ['com', 'example', 'org', 'test']);
  // The trigrams of all languages take another.
  writeLines(path.join(dir, 'rspamd.conf.local'), ['lang_detection { languages_enable = ["en", "de"]; }']);
  writeLines(path.join(override, 'logging.inc'), ['type = "console";', 'level = "info";']);
  writeLines(path.join(override, 'worker-normal.inc'), [`bind_socket = "${socketPath} mode=0666";`, 'count = 1;']);
  for (const name of ['worker-controller.inc', 'worker-proxy.inc', ...RSPAMD_WITHOUT.map((name) => `${name}.conf`)])
    writeLines(path.join(override, name), ['enabled = false;']);
  const options = [
    '--no-fork',
    `--config=${RSPAMD_CONFIG}`,
    ...['DBDIR', 'RUNDIR', 'LOGDIR', 'LOCAL_CONFDIR'].map((name) => `--var=${name}=${dir}`),
    ...(process.getuid?.() === 0 ? ['--user=_rspamd', '--group=_rspamd'] : []),
  ];
  const close = await startServer('rspamd', options, { dir, started: /starting normal process/ });
  return { judge: (arrival) => askRspamd(socketPath, arrival), close };
}

async function askRspamd(socketPath: string, { ip, helo, mailFrom, rcptTo, data }: Arrival): Promise<string[]> {
  const headers = { ip, helo, hostname: helo, from: mailFrom, rcpt: [...rcptTo], 'mta-tag': RECEIVER };
  const body = await new Promise<{ symbols?: Record<string, unknown> }>((resolve, reject) => {
    const call = http.request({ socketPath, path: '/checkv2', method: 'POST', headers, agent: false }, (answer) => {
      json(answer).then((read) => resolve(read as object), reject);
    });
    call.once('error', reject);
    call.end(data);
  });
  if (body.symbols === undefined) throw new Error(`rspamd answered ${JSON.stringify(body)}`);
  return Object.keys(body.symbols).toSorted();
}

const writeLines = (file: string, lines: readonly string[]): void =>
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''));

/** Makes a folder that belongs to the user that the program runs as, where a user can be chosen. */
function makeFolder(prefix: string, owner: string): string {
  const dir = mkdtempSync(path.join(os.tmpdir(), prefix));
  chmodSync(dir, 0o755);
  if (process.getuid?.() === 0) chownSync(dir, Number(execFileSync('id', ['-u', owner]).toString()), -1);
  return dir;
}

/** Starts a program in the foreground, and returns what ends it once it has said that it listens. */
async function startServer(
  name: string,
  options: readonly string[],
  { dir, started }: { dir: string; started: RegExp },
): Promise<() => Promise<void>> {
  const child = spawn(findProgram(name) ?? name, options, { stdio: ['ignore', 'pipe', 'pipe'], cwd: dir });
  const close = async (): Promise<void> => {
    await endChild(child);
    rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
  };
  let said = '';
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (what: string): void => reject(new Error(`${name} ${what}:\n${said}`));
      timer = setTimeout(() => fail(`did not start within ${START_MS} ms`), START_MS);
      child.once('error', (error) => fail(`cannot be started, ${error.message}`));
      child.once('exit', (code) => fail(`ended by itself with ${code}`));
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => {
          said += text;
          if (started.test(said)) resolve();
        });
      }
    });
  } catch (error) {
    await close();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return close;
}

/** Ends a program by the signal at which it ends its workers, too. */
function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}
