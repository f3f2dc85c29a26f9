// the job that judges mail reads little, however many domains send
import { afterAll, beforeAll, expect, it } from 'vitest';
import { evaluateBreakers } from '../../src/mail/breakers/index.ts';
import { explainQueries } from '../rig/plans.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { recordOutcomes } from './breakers-desk.ts';
import { mailIn } from './mail.ts';

const HOUR_MS = 3_600_000;
const CALM_DOMAINS = 200;
const HOURS = 30;

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  const { db, ids, clock } = scene.app.world;
  const hour = Math.floor(clock.now() / HOUR_MS);
  const columns = [
    'hour',
    'source',
    'provider',
    'domain_id',
    'team_id',
    'is_marketing',
    'outcome',
    'cause',
    'shard',
    'count',
  ];
  for (let n = 0; n < CALM_DOMAINS; n++) {
    const domainId = ids.uuid();
    const teamId = ids.uuid();
    const rows = Array.from({ length: HOURS }, (_, i) => [
      hour - i,
      '',
      'google',
      domainId,
      teamId,
      1,
      'accepted',
      '',
      0,
      100,
    ]);
    await db.tx((tx) => tx.insertMany('reputation_counts', columns, rows));
  }
  const mail = await mailIn(scene);
  await recordOutcomes(scene, mail, { accepted: 1000, complained: 50 });
  await db.withKnex((knex) => knex.raw('analyze'));
});
afterAll(() => scene.close());

it('the mail of domains and teams is read by the hour or by the domain, and never all of it', async () => {
  const { world } = scene.app;
  const plans = await explainQueries(world.db, () => evaluateBreakers(world), 'reputation_counts');
  expect(plans.length).toBeGreaterThanOrEqual(3);
  for (const plan of plans) expect(plan).not.toMatch(/SCAN reputation_counts\b(?! USING)|Seq Scan/);
});
