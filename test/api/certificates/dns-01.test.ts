// names that are proven by TXT records, written into the zone by RFC 2136 and taken away again
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CLASSES, plainRecord, recordDataOf } from '../../../src/protocol/dns/index.ts';
import type { DeepPartial, Config } from '../../../src/platform/config/index.ts';
import { startUpdateServer, type UpdateServer } from '../../rig/update-server.ts';
import { startWithAuthority, type AuthorityScene } from './authority-scene.ts';

const NAME = 'rasket.test';
const PROOF = `_acme-challenge.${NAME}`;

let zone: UpdateServer;
let at: AuthorityScene;
beforeEach(async () => {
  zone = await startUpdateServer(NAME);
});
afterEach(async () => {
  await at[Symbol.asyncDispose]();
  await zone.close();
});

const txt = (name: string): string[] =>
  zone.records
    .map(plainRecord)
    .filter((record) => record.type === 'TXT' && record.name === name)
    .map(({ value }) => value);

/** What the zone's name server shows: what is written, at once or when `publish` is called. */
async function start({ acme = {}, isLate = false }: { acme?: DeepPartial<Config>['acme']; isLate?: boolean } = {}) {
  const office = {
    ...{ kind: 'rfc2136', zones: [NAME], teams: [], server: '127.0.0.1', port: zone.port },
    ...{ key_name: 'rasket-key', key_secret: Buffer.alloc(32, 9).toString('base64') },
  };
  at = await startWithAuthority({ challenge: 'dns-01', dns_provider: 'office', ...acme }, {
    dns_providers: { office },
    network: { dns_allow_private: ['127.0.0.0/8'] },
  } as unknown as DeepPartial<Config>);
  const { dns } = at.scene;
  dns.set(NAME, 'SOA', [`ns.${NAME} admin.${NAME} 1 900`]);
  dns.set(NAME, 'NS', [`ns.${NAME}`]);
  dns.set(`ns.${NAME}`, 'A', ['127.0.0.1']);
  at.ca.zone.txt = txt;
  const publish = () => dns.set(PROOF, 'TXT', txt(PROOF));
  zone.faults.beforeUpdate = () => void queueMicrotask(() => !isLate && publish());
  return { publish };
}

it('a certificate is issued, with a wildcard, and nothing of it stays in the zone', async () => {
  await start({ acme: { names: [`*.${NAME}`] } });
  zone.records.push({
    ...{ name: PROOF, class: CLASSES.IN, ttl: 60 },
    data: recordDataOf({ name: PROOF, type: 'TXT', value: 'of somebody else', priority: null }),
  });
  await at.look();
  expect(await at.listed()).toMatchObject([{ status: 'issued', last_error: null, names: [`*.${NAME}`, NAME] }]);
  expect((await at.shown(`any.${NAME}`)).isTrusted).toBe(true);
  expect(txt(PROOF)).toEqual(['of somebody else']);
  expect(at.ca.violations).toEqual([]);
  const writes = zone.heard.filter(({ message }) => message.opcode === 5);
  expect(writes.length, 'two names, each written and removed').toBe(4);
});

it('the authority is not told before the name servers of the zone show it', async () => {
  await start({ acme: { dns_seconds: 1 }, isLate: true });
  let looked = 0;
  at.ca.plays.proven = () => void looked++;
  await at.look();
  const [first] = await at.listed();
  expect(first?.last_error).toBe(
    `the TXT record of ${PROOF} was written, and ns.${NAME} does not show it after 1 seconds (acme.dns_seconds)`,
  );
  expect(looked).toBe(0);
});

it('a zone that the provider does not have, and a key that it does not take, are named', async () => {
  await start({ acme: { names: ['mail.elsewhere.example'] } });
  await at.look();
  expect((await at.listed())[0]?.last_error).toContain('has no zone for _acme-challenge.mail.elsewhere.example');
  expect(txt(PROOF)).toEqual([]);
});

it('what a process leaves that is killed after the authority has looked is removed by the next', async () => {
  await start();
  const { ca, scene } = at;
  const { config } = scene.app.world;
  const quiet = { ...config, log: { ...config.log, level: 'silent' } };
  const given = JSON.stringify({ config: quiet, dataDir: scene.dataDir, trustedCa: ca.trust });
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'renew-once.ts'), given], { stdio: 'inherit' });
  const gone = once(child, 'exit');
  ca.plays.proven = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  expect(await gone).toEqual([null, 'SIGKILL']);
  ca.plays.proven = () => undefined;
  expect(txt(PROOF)).toHaveLength(1);
  scene.clock.advance(3 * 60_000);
  await at.look();
  expect(await at.listed()).toMatchObject([{ status: 'issued' }]);
  expect(txt(PROOF)).toEqual([]);
  expect(ca.ordered).toEqual([NAME]);
}, 60_000);

it('what cannot be removed is tried again, and given up after a day in a line of the log', async () => {
  await start();
  at.ca.plays.proven = () => void (zone.faults.updateCode = 5);
  await at.look();
  expect(await at.listed()).toMatchObject([{ status: 'issued' }]);
  expect(txt(PROOF)).toHaveLength(1);
  const lines = () => at.scene.log.filter((line) => line.includes('could not be removed'));
  expect(lines()).toHaveLength(1);
  at.scene.clock.advance(25 * 3_600_000);
  await at.look();
  expect(lines().at(-1)).toContain('remove it by hand');
  const count = lines().length;
  await at.look();
  expect(lines()).toHaveLength(count);
});
