// The neighbors of a mail server, on loopback: a resolver with the zones of a file, mail servers that take everything, and an authority
// (Pebble). They are started alongside `new-sysadmin.sh`, as a process of their own: neighbours.ts FOLDER
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { startDns, type DnsType } from '../rig/dns.ts';
import { startSink } from '../rig/sink.ts';
import { makeCertificate } from '../rig/tls.ts';
import { readZoneFile } from '../rig/zone-reader.ts';

const CA = 'ca.example.net';
const [folder = '/var/lib/neighbours'] = process.argv.slice(2);
const at = (name: string): string => path.join(folder, name);

const dns = await startDns({ [CA]: { A: ['127.0.0.1'] } }, { port: 5353, ttlSeconds: 0 });
dns.set('example.org', 'MX', ['10 mx.example.org']);
dns.set('mx.example.org', 'A', ['127.0.0.1']);

/** A string of a TXT record has at most 255 bytes. */
const readParts = (text: string): string[] => text.match(/.{1,255}/gs) ?? [''];

/** Publishes the zone file as it is now; the signal is answered by a file, so that nobody guesses how long it takes. */
function readZones(): void {
  const published = new Map<string, Map<string, (string | string[])[]>>();
  for (const { name, type, data } of existsSync(at('zone')) ? readZoneFile(readFileSync(at('zone'), 'utf8')) : []) {
    const types = published.get(name) ?? new Map<string, (string | string[])[]>();
    types.set(type, [...(types.get(type) ?? []), type === 'TXT' ? readParts(data) : data]);
    published.set(name, types);
  }
  for (const [name, types] of published) for (const [type, data] of types) dns.set(name, type as DnsType, data);
  writeFileSync(at('zone-read'), '');
}
readZones();
process.on('SIGHUP', readZones);

const sink = await startSink({
  port: 2526,
  onMessage: ({ rcptTo, data }) => appendFileSync(at('arrived'), `${rcptTo.join(' ')}\n${data.toString('latin1')}\n`),
});

const own = makeCertificate({ names: [CA] });
writeFileSync(at('ca.pem'), own.cert, { mode: 0o644 });
writeFileSync(at('ca.key'), own.key, { mode: 0o600 });
const pebble = {
  listenAddress: '127.0.0.1:14000',
  managementListenAddress: '127.0.0.1:15000',
  certificate: at('ca.pem'),
  privateKey: at('ca.key'),
  httpPort: 80,
  tlsPort: 443,
  ocspResponderURL: '',
};
writeFileSync(at('pebble.json'), JSON.stringify({ pebble }));
const child = spawn('pebble', ['-config', at('pebble.json'), '-strict', '-dnsserver', dns.server], {
  env: { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '10' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
await new Promise<void>((resolve) => {
  // Read to its end: a program whose output nobody reads is ended by it.
  child.stdout.on('data', (chunk: Buffer) => {
    if (chunk.toString().includes('ACME directory available')) resolve();
  });
});
const [answer] = (await once(
  https.get('https://127.0.0.1:15000/roots/0', { ca: own.cert, servername: CA, agent: false }),
  'response',
)) as [NodeJS.ReadableStream];
writeFileSync(at('root.pem'), await text(answer as never));

// It appears whole.
writeFileSync(at('ready.part'), JSON.stringify({ pid: process.pid, dns: dns.server, smtp: sink.port }));
renameSync(at('ready.part'), at('ready'));
