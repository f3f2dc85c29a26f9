// the closing of a month, killed again and again --> one invoice for each team, numbers without a gap
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { expect, it } from 'vitest';
import {
  billingScene,
  closed,
  givePlan,
  fetchInvoices,
  listInvoiceNumbers,
  until,
} from '../api/billing/billing-scene.ts';

const TEAMS = 60;
const KILLS = 3;
/** The transaction in which each process dies: before the last team. */
const LAST = TEAMS / KILLS;
const PROGRAM = path.join(import.meta.dirname, 'close-months.ts');

it(`closing a month survives kill -9 ${KILLS} times with one invoice for each team and no gap`, async () => {
  await using scene = await billingScene();
  const teams = [];
  for (let n = 0; n < TEAMS; n++) teams.push(await scene.team());
  for (const team of teams) await givePlan(scene, team, 'pro');
  until(scene, '2026-12-01T02:00:00Z');
  const { config, dataDir } = scene.app.world;
  for (let round = 1; round <= KILLS; round++) {
    const argv = [PROGRAM, JSON.stringify(config), dataDir, String(scene.clock.now()), String(LAST)];
    const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
    const gone = once(child, 'exit');
    await Promise.race([once(child.stdout, 'data'), gone]);
    child.kill('SIGKILL');
    await gone;
    expect(await listInvoiceNumbers(scene)).toHaveLength(round * (LAST - 1));
  }
  await closed(scene);
  const wanted = Array.from({ length: TEAMS }, (_, index) => `INV-${String(index + 1).padStart(6, '0')}`);
  expect(await listInvoiceNumbers(scene)).toEqual(wanted);
  for (const team of teams) expect(await fetchInvoices(scene, team)).toHaveLength(1);
});
