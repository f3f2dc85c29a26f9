// what a machine can see of itself -> the log and a command within minutes, without contacting others, and not too often
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createDoctor } from '../../../src/features/installation/doctor/doctor.ts';
import { loadFindingsReport } from '../../../src/features/installation/findings/findings-report.ts';
import { scratchFolder } from '../../rig/scratch.ts';
import { startMachine, type Machine } from './examined.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let machine: Machine;
let told: string;
beforeEach(async () => {
  const folder = scratchFolder('rasket-told-');
  told = path.join(folder, 'told');
  isFull = false;
  const program = path.join(folder, 'page');
  writeFileSync(program, `#!/bin/sh\n{ cat; echo; } >> '${told}'\n`);
  chmodSync(program, 0o700);
  machine = await startMachine({ doctor: { notify_command: [program] } });
});
afterEach(() => machine[Symbol.asyncDispose]());

const run = async (name: string): Promise<void> => {
  const job = machine.scene.app.jobs.find((one) => one.name.startsWith(name));
  expect(job, name).toBeDefined();
  await job?.run();
};

/** Returns the codes that each notice reports as new (+) and resolved (-). */
const notices = (): string[][] =>
  (existsSync(told) ? readFileSync(told, 'utf8').trim().split('\n') : []).map((line) => {
    const { data } = JSON.parse(line) as { data: Record<'appeared' | 'mended', { code: string }[]> };
    return [...data.appeared.map(({ code }) => `+${code}`), ...data.mended.map(({ code }) => `-${code}`)];
  });

let isFull: boolean;
/** Switches a full disk on or off: the required free space is more than any disk has. */
const fillDisk = (wanted: boolean) => void (isFull = wanted);
const createDoctorFor = (isOnFullDisk: boolean) => {
  const { world } = machine.scene.app;
  const doctor = { ...world.config.doctor, disk_free_mb: isOnFullDisk ? 1_000_000_000 : 1 };
  const asItIs = { ...world, config: { ...world.config, doctor } };
  const self = { pid: process.pid, tls: () => undefined, isReceiving: false };
  return createDoctor(asItIs, { self, loadFindings: () => loadFindingsReport(asItIs) });
};
const glance = () => createDoctorFor(isFull).glance();

it('the job of every five minutes notices an outdated backup, with one notification', async () => {
  const { schedule } = machine.scene.app.jobs.find(({ name }) => name.startsWith('glance ')) ?? {};
  expect(schedule).toBe('*/5 * * * *');
  await run('glance ');
  expect(notices(), 'nothing is wrong').toEqual([]);
  await machine.backedUp(30 * 24 * HOUR_MS);
  await run('glance ');
  await run('tell-findings');
  await run('glance ');
  expect(notices()).toEqual([['+backup_old']]);
});

it('a full disk is reported at once, and its recovery within a minute', async () => {
  await glance();
  expect(notices(), 'nothing is wrong').toEqual([]);
  fillDisk(true);
  await glance();
  expect(notices()).toEqual([['+disk_low']]);
  fillDisk(false);
  await glance();
  expect(notices(), 'good news wait for the minute').toEqual([['+disk_low']]);
  await run('tell-findings');
  expect(notices()).toEqual([['+disk_low'], ['-disk_low']]);
});

it('the job contacts no other machine, and keeps the findings about the outside', async () => {
  machine.list(['127.0.0.4']);
  const { checks } = await machine.examine();
  const { dns } = machine.scene;
  const asked = dns.queries.length;
  machine.list('NXDOMAIN');
  fillDisk(true);
  machine.scene.clock.advance(MINUTE_MS);
  await glance();
  expect(dns.queries.length).toBe(asked);
  const { body } = await machine.scene.api('GET', '/operator/findings', { key: machine.token });
  expect(body.findings.map(({ code }: { code: string }) => code).toSorted()).toEqual(['address_listed', 'disk_low']);
  const after = Object.fromEntries(body.checks.map((check: { name: string }) => [check.name, check]));
  expect(after.dnsbl).toEqual(checks['dnsbl']);
  expect(after.disk.checked_at > (checks['disk']?.checked_at ?? '')).toBe(true);
});

it('a finding that comes and goes is reported four times an hour, and finally with its last state', async () => {
  // The nodes of this scene report by a clock of their own.
  const ofDisk = () =>
    notices()
      .map((codes) => codes.filter((code) => code.endsWith('disk_low')))
      .filter((codes) => codes.length > 0);
  for (let minute = 0; minute < 30; minute += 3) {
    fillDisk(minute % 2 === 0);
    await glance();
    await run('tell-findings');
    machine.scene.clock.advance(3 * MINUTE_MS);
  }
  expect(ofDisk()).toEqual([['+disk_low'], ['-disk_low'], ['+disk_low'], ['-disk_low']]);
  expect(
    machine.scene.log.filter((line) => line.includes('changes too often') && line.includes('disk_low')),
  ).toHaveLength(1);
  fillDisk(true);
  await glance();
  expect(ofDisk(), 'still within the hour').toHaveLength(4);
  machine.scene.clock.advance(HOUR_MS);
  await glance();
  expect(ofDisk().slice(4)).toEqual([['+disk_low']]);
});

it('two nodes that notice a finding at the same time send one notification', async () => {
  await machine.examine();
  const nodes = [createDoctorFor(true), createDoctorFor(true), createDoctorFor(true)];
  await Promise.all([...nodes.map((node) => node.glance()), run('tell-findings')]);
  await run('tell-findings');
  expect(notices().filter((codes) => codes.includes('+disk_low'))).toHaveLength(1);
});
