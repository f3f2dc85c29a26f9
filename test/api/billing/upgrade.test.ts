import { expect, it } from 'vitest';
import { schemaState } from '../../../src/platform/db/index.ts';
import { plansOfTeam } from '../../../src/resources/teams/index.ts';
import type { Scene } from '../../rig/scene.ts';
import { billingScene, closed, givePlan, invoicesOf, onlyInvoice, send, until } from './billing-scene.ts';

/** Takes the schema back to what it was before teams were billed. */
async function takeBack({ app: { world } }: Scene): Promise<string[]> {
  const { done } = await schemaState(world.db);
  const later = done.filter((name) => name >= '0094').toReversed();
  for (const name of later) {
    const step = (await import(new URL(`../../../migrations/${name}.ts`, import.meta.url).href)) as {
      down(knex: unknown): Promise<void>;
    };
    await world.db.withKnex((knex) => step.down(knex));
    await world.db.run('delete from schema_migrations where name = ?', [name]);
  }
  return later;
}

it('teams that were there before billing keep their plans, and pay for no day before it', async () => {
  await using scene = await billingScene({}, { config: { upgrade: { backup_age_hours: 0 } } });
  const [paying, free] = [await scene.team('Old Ltd'), await scene.team()];
  await givePlan(scene, paying, 'pro');
  await send(scene, paying, 1500);
  until(scene, '2026-11-11T08:00:00Z');
  const taken = await takeBack(scene);
  expect(taken.at(-1)).toBe('0094_teams_are_billed_by_month');
  await scene.restart();
  const { db } = scene.app.world;
  expect((await schemaState(db)).pending).toEqual([]);
  for (const [team, code] of [
    [paying, 'pro'],
    [free, 'standard'],
  ] as const) {
    expect(await plansOfTeam(db, team.id)).toEqual([{ code, since: Date.parse('2026-11-01T00:00:00Z') }]);
    expect((await scene.api('GET', '/billing', { key: team.key })).body).toMatchObject({ plan: { code } });
  }
  await send(scene, paying, 600);
  until(scene, '2026-12-01T01:00:00Z');
  expect(await closed(scene)).toBe(2);
  const { lines, billed_to: to } = await onlyInvoice(scene, paying);
  expect([
    to,
    lines.map((line: { description: string; amount_cents: number }) => [line.description, line.amount_cents]),
  ]).toEqual([
    'Old Ltd',
    [
      ['Pro, 20 of 30 days', 1333],
      ['Pro, 600 emails beyond the included ones, by 1,000', 40],
    ],
  ]);
  expect(await invoicesOf(scene, free)).toEqual([]);
  // A team that comes after it is billed as the others are.
  const young = await scene.team();
  await givePlan(scene, young, 'tiny');
  until(scene, '2027-01-01T01:00:00Z');
  await closed(scene);
  expect(await onlyInvoice(scene, young)).toMatchObject({ month: '2026-12', total_cents: 300 });
});
