// the closing of a month, killed again and again --> one invoice for each team, numbers without a gap
import { spawn } from 'node:child_process';
import path from 'node:path';
import { expect, it } from 'vitest';
import { billingScene, closed, givePlan, invoicesOf, numbersOf, until } from '../api/billing/billing-scene.ts';

const TEAMS = 60;
const KILLS = 3;
const PROGRAM = path.join(import.meta.dirname, 'close-months.ts');

it(`kill -9 ${KILLS} times while a month is closed: one invoice for each team, and no gap`, async () => {
  await using scene = await billingScene();
  const teams = [];
  for (let n = 0; n < TEAMS; n++) teams.push(await scene.team());
  for (const team of teams) await givePlan(scene, team, 'pro');
  until(scene, '2026-12-01T02:00:00Z');
  const { config, dataDir } = scene.app.world;
  let killed = 0;
  for (let round = 1; round <= KILLS; round++) {
    const argv = [PROGRAM, JSON.stringify(config), dataDir, String(scene.clock.now())];
    const child = spawn(process.execPath, argv, { stdio: 'ignore' });
    const gone = new Promise((done) => child.once('exit', done));
    const enough = (TEAMS / (KILLS + 1)) * round;
    await expect
      .poll(async () => (await numbersOf(scene)).length, { timeout: 30_000, interval: 1 })
      .toBeGreaterThanOrEqual(enough);
    child.kill('SIGKILL');
    await gone;
    if ((await numbersOf(scene)).length < TEAMS) killed += 1;
  }
  // A process that was through before anybody looked shows nothing.
  expect(killed).toBeGreaterThan(0);
  await closed(scene);
  const wanted = Array.from({ length: TEAMS }, (_, index) => `INV-${String(index + 1).padStart(6, '0')}`);
  expect(await numbersOf(scene)).toEqual(wanted);
  for (const team of teams) expect(await invoicesOf(scene, team)).toHaveLength(1);
});
