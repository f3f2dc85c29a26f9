// names that are proven by TXT records, written into the zone by RFC 2136 and taken away again
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { renewCertificates } from '../../../src/features/installation/certificate-renewal/renew-certificates.ts';
import { CLASSES, OPCODES, toRecordData } from '../../../src/protocol/dns/index.ts';
import type { DeepPartial, Config } from '../../../src/platform/config/index.ts';
import { startWithAuthority, trackedDomain, type AuthorityScene } from './authority-scene.ts';
import { startProofZone, type ProofZone } from './proof-zone.ts';

const NAME = 'rasket.test';
const PROOF = `_acme-challenge.${NAME}`;

let zone: ProofZone;
let at: AuthorityScene;
beforeEach(async () => {
  zone = await startProofZone(NAME);
});
afterEach(async () => {
  await at[Symbol.asyncDispose]();
  await zone[Symbol.asyncDispose]();
});

async function start(acme: DeepPartial<Config>['acme'] = {}): Promise<void> {
  at = await startWithAuthority({ challenge: 'dns-01', dns_provider: 'office', ...acme }, zone.settings);
  at.ca.zone.txt = zone.visible;
}

const isUpdate = ({ message }: ProofZone['primary']['heard'][number]): boolean => message.opcode === OPCODES.update;

/** Returns how often the name server of the zone was queried for the proof. */
const looks = (): number => zone.shown.queries.filter(({ name, recursion }) => name === PROOF && !recursion).length;

/** Runs the job, which waits by the scene's clock for the zone; each second of it passes at once. */
async function passing<T>(work: Promise<T>): Promise<T> {
  let isOver = false;
  const ended = work.finally(() => (isOver = true));
  await expect.poll(() => (at.scene.clock.advance(isOver ? 0 : 1000), isOver), { interval: 5 }).toBe(true);
  return ended;
}

it('a certificate with a wildcard is issued, and nothing of the order stays in the zone', async () => {
  await start({ names: [`*.${NAME}`] });
  zone.primary.records.push({
    name: PROOF,
    class: CLASSES.IN,
    ttl: 60,
    data: toRecordData({ name: PROOF, type: 'TXT', value: 'of somebody else', priority: null }),
  });
  await at.look();
  expect(await at.listed()).toMatchObject([{ status: 'issued', last_error: null, names: [`*.${NAME}`, NAME] }]);
  expect((await at.shown(`any.${NAME}`)).isTrusted).toBe(true);
  expect(zone.written(PROOF)).toEqual(['of somebody else']);
  expect(at.ca.violations).toEqual([]);
  expect(zone.primary.heard.filter(isUpdate).length, 'two names, each written and removed').toBe(4);
});

it('the authority is not asked to validate before the name servers of the zone show the record', async () => {
  await start({ dns_seconds: 20 });
  zone.isLate = true;
  let told = 0;
  at.ca.plays.proven = () => void told++;
  await passing(at.look());
  expect((await at.listed())[0]?.last_error).toBe(
    `the TXT record of ${PROOF} was written, and ns.${NAME} does not show it after 20 seconds (acme.dns_seconds)`,
  );
  expect(told).toBe(0);
  expect(looks()).toBeGreaterThan(2);
  expect(zone.written(PROOF)).toHaveLength(1);
  zone.publish();
  zone.isLate = false;
  at.scene.clock.advance(76_000);
  await at.look();
  expect(await at.listed()).toMatchObject([{ status: 'issued' }]);
  expect([told, at.ca.ordered, at.ca.violations]).toEqual([1, [NAME], []]);
  expect(zone.primary.heard.filter(isUpdate).length, 'written once, removed once').toBe(2);
});

it('a tracking host, which is in a customer’s zone, is validated at port 80', async () => {
  await start();
  const host = await trackedDomain(at, 'shop.example', zone.shown);
  await at.look();
  expect(at.ca.ordered).toEqual([NAME, host]);
  expect(await at.listed()).toMatchObject([{ status: 'issued' }, { name: host, status: 'issued' }]);
  expect(zone.primary.heard.filter(isUpdate).length, 'those of our own name').toBe(2);
});

it('a process that stops while it waits for the zone does not count as a failure', async () => {
  await start();
  zone.isLate = true;
  const stopping = new AbortController();
  const { clock, app } = at.scene;
  const renewed = renewCertificates(app.world, stopping.signal);
  await expect.poll(looks).toBeGreaterThan(0);
  stopping.abort();
  expect(await renewed).toEqual({ issued: 0, failed: 0 });
  expect((await at.listed())[0]).toMatchObject({ last_error: null, failing_since: null });
  zone.isLate = false;
  zone.publish();
  clock.advance(60_000);
  await at.look();
  expect(await at.listed()).toMatchObject([{ status: 'issued' }]);
  expect([zone.written(PROOF), at.ca.ordered]).toEqual([[], [NAME]]);
});

it('an order refused by the authority leaves nothing in the zone', async () => {
  await start();
  at.ca.zone.txt = () => ['what stands elsewhere'];
  await at.look();
  expect((await at.listed())[0]?.last_error).toContain(`${NAME} was not proven`);
  expect(zone.written(PROOF)).toHaveLength(1);
  await at.look();
  expect(zone.written(PROOF)).toEqual([]);
});

it('a zone that the provider does not have is named in the error', async () => {
  await start({ names: ['mail.elsewhere.example'] });
  await at.look();
  expect((await at.listed())[0]?.last_error).toContain('has no zone for _acme-challenge.mail.elsewhere.example');
  expect(zone.written(PROOF)).toEqual([]);
});

it('an alias at the name of the challenge is named in the error and left alone', async () => {
  await start();
  const alias = { name: PROOF, type: 'CNAME', value: 'proofs.elsewhere.example', priority: null } as const;
  zone.primary.records.push({ name: PROOF, class: CLASSES.IN, ttl: 60, data: toRecordData(alias) });
  await at.look();
  expect((await at.listed())[0]?.last_error).toContain(`${PROOF} is a CNAME in the zone ${NAME}`);
  expect(zone.primary.heard.filter(isUpdate)).toEqual([]);
});

/** Starts another process that runs the job, for a test to kill; resolves with how it ended. */
function renewElsewhere(): { kill: () => void; gone: Promise<unknown[]> } {
  const { ca, scene } = at;
  const { config } = scene.app.world;
  const quiet = { ...config, log: { ...config.log, level: 'silent' } };
  const given = JSON.stringify({ config: quiet, dataDir: scene.dataDir, trustedCa: ca.trust });
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'renew-once.ts'), given], { stdio: 'inherit' });
  return { kill: () => void child.kill('SIGKILL'), gone: once(child, 'exit') };
}

it('the record of a process killed after validation is removed by the next one', async () => {
  await start();
  const { ca, scene } = at;
  const { kill, gone } = renewElsewhere();
  ca.plays.proven = async () => {
    kill();
    await gone;
  };
  expect(await gone).toEqual([null, 'SIGKILL']);
  ca.plays.proven = () => undefined;
  expect(zone.written(PROOF)).toHaveLength(1);
  scene.clock.advance(3 * 60_000);
  await at.look();
  expect(await at.listed()).toMatchObject([{ status: 'issued' }]);
  expect(zone.written(PROOF)).toEqual([]);
  expect(ca.ordered).toEqual([NAME]);
});

it('the record of a process killed while writing it is removed, even though its order is abandoned', async () => {
  await start();
  const { ca, scene } = at;
  const { faults } = zone.primary;
  const publishing = faults.beforeUpdate;
  const { kill, gone } = renewElsewhere();
  faults.beforeUpdate = kill;
  expect(await gone).toEqual([null, 'SIGKILL']);
  faults.beforeUpdate = publishing ?? kill;
  expect(zone.written(PROOF)).toHaveLength(1);
  await scene.app.world.db.run('update certificates set order_url = null, order_key = null', []);
  scene.clock.advance(3 * 60_000);
  await at.look();
  expect(await at.listed()).toMatchObject([{ status: 'issued', names: [NAME] }]);
  expect([zone.written(PROOF), ca.ordered]).toEqual([[], [NAME, NAME]]);
});

it('a record that cannot be removed is retried for a day, then a log line asks to remove it by hand', async () => {
  await start();
  at.ca.plays.proven = () => void (zone.primary.faults.updateCode = 5);
  await at.look();
  expect(await at.listed()).toMatchObject([{ status: 'issued' }]);
  expect(zone.written(PROOF)).toHaveLength(1);
  const lines = () => at.scene.log.filter((line) => line.includes('could not be removed'));
  expect(lines()).toHaveLength(1);
  at.scene.clock.advance(25 * 3_600_000);
  await at.look();
  expect(lines().at(-1)).toContain('remove it by hand');
  const count = lines().length;
  await at.look();
  expect(lines()).toHaveLength(count);
});
