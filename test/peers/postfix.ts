import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  watch,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Certificate } from '../rig/tls.ts';
import { freePort } from '../rig/free-port.ts';
import { findProgram } from './find-program.ts';
import { masterTable, mainSettings } from './postfix-config.ts';
import { readMaildirFile, type ReceivedMail } from './received-mail.ts';

export interface PostfixOptions {
  /** Lines of main.cf, over those of the rig. */
  settings?: Record<string, string>;
  /** The replies of smtpd to recipients: an address or a domain, and the reply. */
  access?: Record<string, string>;
  /** Offers STARTTLS with this certificate. */
  certificate?: Certificate;
  /** Takes mail from clients that log in with these alone, by Cyrus SASL. */
  login?: { user: string; password: string; mechanisms: readonly string[] };
  /** The address of the resolver that it asks at port 53, instead of that of the system. */
  resolver?: string;
  /** The address that it listens on, instead of a free port of loopback. */
  at?: { address: string; port: number };
}

export interface Postfix extends AsyncDisposable {
  port: number;
  /** Everything Postfix has logged so far. */
  log(): string[];
  /** The lines that match, as soon as there are `count` of them. */
  logged(pattern: RegExp, count?: number, withinMs?: number): Promise<string[]>;
  /** The mail of one Message-ID, one item for each mailbox, as soon as `count` mailboxes hold it. */
  received(messageId: string, count?: number): Promise<ReceivedMail[]>;
  /** Returns the mail in all mailboxes. */
  mail(): ReceivedMail[];
  /** Replaces the access table; connections made from now on see it. */
  setAccess(access: Record<string, string>): void;
  /** Changes lines of main.cf; connections made from now on see them. */
  set(settings: Record<string, string>): void;
  close(): Promise<void>;
}

const WAIT_MS = 45_000;
const ENDED = 'Postfix ended by itself';
const QUEUES = ['active', 'bounce', 'corrupt', 'defer', 'deferred', 'flush', 'hold', 'incoming', 'saved', 'trace'];

/** A Postfix of this test's own: its folders are temporary, it listens on loopback unless it is told otherwise, and it cannot send. */
export async function startPostfix(options: PostfixOptions = {}): Promise<Postfix> {
  try {
    return await start(options);
  } catch (error) {
    // Another process may have taken the port between our finding it free and Postfix binding it; Postfix ends without
    // a word then, as it logs nothing before it listens.
    if (!String(error).includes(ENDED)) throw error;
    return start(options);
  }
}

async function start(options: PostfixOptions): Promise<Postfix> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'rasket-postfix-'));
  const { address, port } = options.at ?? { address: '127.0.0.1', port: await freePort() };
  layOut(dir, options.certificate);
  const logFile = path.join(dir, 'log');
  let settings: Record<string, string> = {
    inet_interfaces: address,
    ...(options.certificate ? withCertificate(dir) : {}),
    ...(options.login ? withLogin(dir, options.login) : {}),
    ...options.settings,
  };
  const set = (changed: Record<string, string>): void => {
    settings = { ...settings, ...changed };
    writeAged(path.join(dir, 'etc', 'main.cf'), mainSettings(dir, readId('nobody'), settings));
  };
  const setAccess = (access: Record<string, string>): void => {
    const lines = Object.entries(access).map(([recipient, reply]) => `${recipient} ${reply}\n`);
    writeAged(path.join(dir, 'etc', 'access'), lines.join(''));
  };
  set({});
  setAccess(options.access ?? {});
  writeAged(path.join(dir, 'etc', 'master.cf'), masterTable(address, port));

  const master = startMaster(dir, options.resolver);
  const log = (): string[] => readFileSync(logFile, 'utf8').split('\n').slice(0, -1);
  const mail = (): ReceivedMail[] => filesIn(path.join(dir, 'mail', 'all', 'new')).map(readMaildirFile);
  const waitFor = <T>(what: string, look: () => T | undefined, withinMs = WAIT_MS): Promise<T> =>
    changed({ logFile, master, what, look, log, withinMs });

  const postfix: Postfix = {
    port,
    log,
    mail,
    set,
    setAccess,
    logged: (pattern, count = 1, withinMs = WAIT_MS) => {
      const look = (): string[] | undefined => {
        const lines = log().filter((line) => pattern.test(line));
        return lines.length >= count ? lines : undefined;
      };
      return waitFor(`${count} log lines like ${pattern}`, look, withinMs);
    },
    received: (messageId, count = 1) =>
      waitFor(`${messageId} in ${count} mailboxes`, () => {
        const found = mail().filter((each) => each.messageId === messageId);
        return found.length >= count ? found : undefined;
      }),
    async close() {
      await stopMaster(master);
      // Its processes end a moment after master, and may write until then.
      rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
    },
    [Symbol.asyncDispose]: () => postfix.close(),
  };
  try {
    await postfix.logged(/daemon started/);
  } catch (error) {
    await postfix.close();
    throw error;
  }
  return postfix;
}

/** The queue belongs to Postfix's own user, as `postfix check` would have it; the mailboxes to nobody. */
function layOut(dir: string, certificate: Certificate | undefined): void {
  const owner = readId('postfix');
  chmodSync(dir, 0o755);
  for (const folder of ['etc', 'queue', 'queue/pid']) mkdirSync(path.join(dir, folder));
  for (const folder of ['data', ...[...QUEUES, 'private', 'public', 'maildrop'].map((name) => `queue/${name}`)]) {
    mkdirSync(path.join(dir, folder), { mode: 0o700 });
    chownSync(path.join(dir, folder), owner, -1);
  }
  mkdirSync(path.join(dir, 'mail'), { mode: 0o700 });
  chownSync(path.join(dir, 'mail'), readId('nobody'), -1);
  // Everybody whose name does not say otherwise has a mailbox; all mail lies in one folder, each item with its owner.
  writeAged(path.join(dir, 'etc', 'mailboxes'), 'if !/^unknown/\n/@/ all/\nendif\n');
  writeFileSync(path.join(dir, 'log'), '');
  if (!certificate) return;
  writeFileSync(path.join(dir, 'etc', 'key.pem'), certificate.key, { mode: 0o600 });
  writeFileSync(path.join(dir, 'etc', 'cert.pem'), certificate.cert);
}

/** Postfix mistrusts a file that was changed a moment ago and reads it again until it is a second old. */
function writeAged(file: string, text: string): void {
  const minuteAgo = Date.now() / 1000 - 60;
  writeFileSync(file, text);
  utimesSync(file, minuteAgo, minuteAgo);
}

function withCertificate(dir: string): Record<string, string> {
  return {
    smtpd_tls_security_level: 'may',
    smtpd_tls_cert_file: path.join(dir, 'etc', 'cert.pem'),
    smtpd_tls_key_file: path.join(dir, 'etc', 'key.pem'),
    smtpd_tls_loglevel: '1',
  };
}

function withLogin(
  dir: string,
  { user, password, mechanisms }: NonNullable<PostfixOptions['login']>,
): Record<string, string> {
  const folder = path.join(dir, 'etc', 'sasl');
  const database = path.join(dir, 'etc', 'sasldb');
  mkdirSync(folder);
  const lines = ['pwcheck_method: auxprop', 'auxprop_plugin: sasldb', `sasldb_path: ${database}`];
  writeFileSync(path.join(folder, 'smtpd.conf'), [...lines, `mech_list: ${mechanisms.join(' ')}`, ''].join('\n'));
  const saslpasswd = findProgram('saslpasswd2') ?? 'saslpasswd2';
  execFileSync(saslpasswd, ['-c', '-p', '-f', database, '-u', REALM, user], { input: password });
  chownSync(database, readId('postfix'), -1);
  return {
    smtpd_sasl_auth_enable: 'yes',
    smtpd_sasl_type: 'cyrus',
    smtpd_sasl_path: 'smtpd',
    smtpd_sasl_local_domain: REALM,
    smtpd_sasl_security_options: 'noanonymous',
    smtpd_tls_auth_only: 'yes',
    cyrus_sasl_config_path: folder,
    smtpd_relay_restrictions: 'permit_sasl_authenticated, reject',
  };
}

/** The realm of the users of a test's Postfix. */
const REALM = 'sink.test';

// The shell outlives a test process that was killed: its third input ends then, and it takes Postfix and the folder
// along; of a Postfix that ended by itself the folder stays for its log to be read. `setsid` makes master the leader of
// its own group, which it ends as a whole when it is told to stop. With a high limit of open files, Postfix spends a
// second on closing those it does not have.
const WATCHED = `
trap '' INT HUP
ulimit -n 1024
if [ -f "$2/resolv.conf" ]; then
  setsid unshare --mount sh -c 'mount --bind "$2/resolv.conf" /etc/resolv.conf && exec "$1" -c "$2/etc" -d' sh "$1" "$2" </dev/null 2>>"$2/log" &
else
  setsid "$1" -c "$2/etc" -d </dev/null 2>>"$2/log" &
fi
master=$!
(read -r _; trap '' TERM; kill "$master"; exit 0) <&3 &
reader=$!
wait "$master"
kill "$reader"
wait "$reader" && rm -rf "$2"
`;

function startMaster(dir: string, resolver: string | undefined): ChildProcess {
  if (resolver !== undefined) writeFileSync(path.join(dir, 'resolv.conf'), `nameserver ${resolver}\n`);
  const daemons = execFileSync(findProgram('postconf') ?? 'postconf', ['-d', '-h', 'daemon_directory']);
  const master = path.join(daemons.toString().trim(), 'master');
  return spawn('sh', ['-c', WATCHED, 'sh', master, dir], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
}

function stopMaster(master: ChildProcess): Promise<void> {
  return new Promise((done) => {
    if (master.exitCode !== null || master.signalCode !== null) return done();
    master.once('exit', () => done());
    (master.stdio[3] as { end?: () => void } | null)?.end?.();
  });
}

interface Wait<T> {
  logFile: string;
  master: ChildProcess;
  what: string;
  look: () => T | undefined;
  log: () => string[];
  withinMs: number;
}

/** Looks whenever Postfix has written something to its log, which it does after everything it does. */
function changed<T>({ logFile, master, what, look, log, withinMs }: Wait<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      watcher.close();
      master.off('exit', onExit);
      settle();
    };
    const fail = (why: string): void =>
      end(() => reject(new Error(`${why} while waiting for ${what}. Its log:\n${log().slice(-40).join('\n')}`)));
    const onExit = (): void => fail(ENDED);
    const check = (): void => {
      try {
        const found = look();
        if (found !== undefined) end(() => resolve(found));
      } catch (error) {
        end(() => reject(error as Error));
      }
    };
    const timer = setTimeout(() => fail(`Postfix took longer than ${withinMs} ms`), withinMs);
    const watcher = watch(logFile, check);
    master.once('exit', onExit);
    check();
  });
}

function filesIn(dir: string): string[] {
  return existsSync(dir) ? readdirSync(dir).map((file) => path.join(dir, file)) : [];
}

function readId(user: string): number {
  return Number(execFileSync('id', ['-u', user]).toString());
}
