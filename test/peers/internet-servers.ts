// The servers of an internet of a test's own, in a network namespace: internet-servers.ts FOLDER. See internet.ts.
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { startDns, type DnsType } from '../rig/dns.ts';
import { startSink } from '../rig/sink.ts';
import { makeCertificate } from '../rig/tls.ts';
import { readZoneFile } from '../rig/zone-reader.ts';
import type { InternetPlan, Line, Receiver } from './internet.ts';
import { startPostfix } from './postfix.ts';

const [folder = ''] = process.argv.slice(2);
const at = (name: string): string => path.join(folder, name);
const plan = JSON.parse(readFileSync(at('plan.json'), 'utf8')) as InternetPlan;
const note = (line: Line): void => appendFileSync(at('lines'), `${JSON.stringify(line)}\n`);

const taken = new Set<string>();
function takeAddress(address: string): void {
  if (taken.has(address)) return;
  taken.add(address);
  const words = address.includes(':') ? ['-6', 'addr', 'add', `${address}/128`, 'dev', 'lo', 'nodad'] : undefined;
  execFileSync('ip', words ?? ['addr', 'add', `${address}/32`, 'dev', 'lo']);
}

takeAddress(plan.resolver);
const dns = await startDns({}, { address: plan.resolver, port: 53, ttlSeconds: 0 });

/** Publishes what the zone file has. The signal is answered by a file, so that nobody guesses how long it takes. */
function readZones(): void {
  const published = new Map<string, Map<string, string[]>>();
  const text = existsSync(at('zone')) ? readFileSync(at('zone'), 'utf8') : '';
  for (const { name, type, data } of readZoneFile(text)) {
    const types = published.get(name) ?? new Map<string, string[]>();
    types.set(type, [...(types.get(type) ?? []), data]);
    published.set(name, types);
  }
  for (const [name, types] of published)
    for (const [type, data] of types) {
      // A string of a TXT record has at most 255 bytes.
      const records = type === 'TXT' ? data.map((one) => one.match(/.{1,255}/gs) ?? ['']) : data;
      dns.set(name, type as DnsType, records);
    }
  writeFileSync(at('zone-read'), '');
}
readZones();
process.on('SIGHUP', readZones);

/** The names asked of the resolver, as soon as a test wants to know them. */
process.on('SIGUSR1', () => {
  writeFileSync(at('queries.part'), JSON.stringify(dns.queries));
  renameSync(at('queries.part'), at('queries'));
});

async function receive({ domain, v4, v6, refusesV4, refusesV6, refusesFrom = {} }: Receiver): Promise<void> {
  const host = `mx.${domain}`;
  dns.set(domain, 'MX', [`10 ${host}`]);
  const servers = [
    { address: v4, type: 'A' as const, refusal: refusesV4 },
    { address: v6, type: 'AAAA' as const, refusal: refusesV6 },
  ];
  for (const { address, type, refusal } of servers) {
    if (address === undefined) continue;
    takeAddress(address);
    dns.set(host, type, [address]);
    await startSink({
      host: address,
      port: 25,
      keep: false,
      // So that each message shows which address is chosen for it.
      messagesPerConnection: 1,
      script(command, { peer }) {
        const answer = refusesFrom[peer] ?? refusal;
        if (answer === undefined || !command.startsWith('RCPT')) return undefined;
        note({ kind: 'refused', at: address, from: peer, to: /<(.*?)>/.exec(command)?.[1] ?? '' });
        return answer;
      },
      onMessage: ({ rcptTo, data, peer }) =>
        note({ kind: 'arrived', at: address, from: peer, to: rcptTo.join(' '), content: data.toString('latin1') }),
    });
  }
}
for (const receiver of plan.receivers) await receive(receiver);

/** Programs ask these addresses whether anything leads out: the web servers of domains that also receive mail. */
for (const { domain, v4 } of plan.receivers.filter(({ hasWebServer }) => hasWebServer)) {
  if (v4 === undefined) continue;
  dns.set(domain, 'A', [v4]);
  net.createServer((socket) => socket.destroy()).listen(443, v4);
}

if (plan.relay) {
  const { host, address, user, password, passesTo } = plan.relay;
  takeAddress(address);
  dns.set(host, 'A', [address]);
  const certificate = makeCertificate({ names: [host] });
  writeFileSync(at('relay-ca.pem'), certificate.cert, { mode: 0o644 });
  await startPostfix({
    certificate,
    at: { address, port: 587 },
    login: { user, password, mechanisms: ['PLAIN', 'LOGIN'] },
    settings: {
      myhostname: host,
      virtual_mailbox_domains: '',
      default_transport: `smtp:[${passesTo}]:25`,
      disable_dns_lookups: 'yes',
    },
  });
}

// It appears whole.
writeFileSync(at('ready.part'), String(process.pid));
renameSync(at('ready.part'), at('ready'));
