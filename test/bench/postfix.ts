import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePort } from '../rig/free-port.ts';
import { askCounts, pause, type Bench } from './bench.ts';
import { stopChild, watch, type Helper } from './children.ts';
import { median } from './figures.ts';
import { startDaemon, untilAccepting } from './peers/peer.ts';
import type { SinkCount } from './sink-process.ts';

const TOOLS = ['postfix', 'smtp-source'] as const;

/** Measures, for scale only, an unmodified Postfix that relays the same amount unsigned, synced queue files and all, to the same sink. */
export async function benchPostfix(bench: Bench): Promise<void> {
  const missing = TOOLS.filter((tool) => !existsSync(`/usr/sbin/${tool}`));
  const reason =
    missing.length > 0
      ? `${missing.join(' and ')} is not installed`
      : process.getuid?.() === 0
        ? ''
        : 'Postfix starts as root only';
  if (reason !== '') {
    bench.say(`skipped: ${reason}`);
    return;
  }
  const sink = await bench.helper('./sink-process.ts');
  const rsa = await bench.helper('./rsa-process.ts');
  const { port: sinkPort } = await askCounts(sink);
  const { port } = await startPostfix(bench, { relayTo: sinkPort });
  await relay(sink, port, 300);
  const rates: number[] = [];
  const signatures: number[] = [];
  for (let i = 0; i < (bench.quick ? 1 : 3); i++) {
    signatures.push((await rsa.ask<{ perSecond: number }>({ seconds: 1 })).perSecond);
    rates.push(await relay(sink, port, bench.quick ? 500 : 1500));
  }
  const baseline = { name: 'RSA-2048/s', value: median(signatures) };
  bench.add({ name: 'for scale: Postfix relays 4 KB, unsigned', value: median(rates), unit: 'emails/s', baseline });
}

async function relay(sink: Helper, port: number, amount: number): Promise<number> {
  const { accepted } = await askCounts(sink);
  const until = sink.ask<SinkCount>({ say: 'until', accepted: accepted + amount });
  const from = ['-f', 'hello@news.sender.test', '-t', 'reader@mail0.reader.test'];
  until.catch(() => undefined);
  const begin = performance.timeOrigin + performance.now();
  const source = spawn(
    '/usr/sbin/smtp-source',
    ['-d', '-s', '20', '-l', '4096', '-m', String(amount), ...from, `127.0.0.1:${port}`],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  watch(source);
  const late = pause(40_000).then(() => undefined);
  const done = await Promise.race([until, late]);
  await stopChild(source, 'SIGKILL');
  if (!done) throw new Error(`Postfix did not relay ${amount} messages in 40 s`);
  return amount / ((done.at - begin) / 1000);
}

/** Starts a Postfix of the bench's own, on loopback only: it relays everything to one port, or keeps it as `settings` say. */
export async function startPostfix(
  bench: Bench,
  { relayTo, settings = '' }: { relayTo?: number; settings?: string },
): Promise<{ port: number; pid: number }> {
  const dir = bench.folder('postfix');
  const port = await freePort();
  // Its daemons run as another user and reach their files by absolute names.
  for (const folder of [path.dirname(dir), dir]) chmodSync(folder, 0o755);
  for (const name of ['spool', 'data']) mkdirSync(path.join(dir, name));
  execFileSync('chown', ['postfix', path.join(dir, 'data')]);
  writeFileSync(path.join(dir, 'main.cf'), `${mainCf(dir)}${destination(relayTo)}${settings}`);
  writeFileSync(path.join(dir, 'master.cf'), masterCf(port));
  // This creates the folders of the queue. `postfix start-fg` would leave the group that ends with the bench, `-d` stays in it.
  execFileSync('/usr/sbin/postfix', ['-c', dir, 'check'], { stdio: 'ignore' });
  const daemons = execFileSync('/usr/sbin/postconf', ['-d', '-h', 'daemon_directory']).toString().trim();
  const master = startDaemon(bench, dir, [path.join(daemons, 'master'), '-c', dir, '-d']);
  await untilAccepting('Postfix', master, dir, port);
  return { port, pid: master.pid ?? 0 };
}

const destination = (relayTo: number | undefined): string =>
  relayTo === undefined
    ? 'smtpd_recipient_restrictions = reject_unauth_destination\n'
    : `smtpd_recipient_restrictions = permit_mynetworks, reject\nrelayhost = [127.0.0.1]:${relayTo}\n`;

const mainCf = (dir: string): string => `compatibility_level = 3.6
queue_directory = ${dir}/spool
data_directory = ${dir}/data
maillog_file = ${dir}/mail.log
maillog_file_prefixes = ${dir}
myhostname = relay.bench.test
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
mydestination =
alias_maps =
alias_database =
local_recipient_maps =
smtp_dns_support_level = disabled
`;

const masterCf = (port: number): string => `127.0.0.1:${port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
virtual unix - n n - - virtual
relay unix - - n - - smtp
error unix - - n - - error
retry unix - - n - - error
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
tlsmgr unix - - n 1000? 1 tlsmgr
postlog unix-dgram n - n - 1 postlogd
`;
