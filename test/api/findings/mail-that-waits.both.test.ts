// an operator holds mail, or switches marketing mail off --> GET /findings of the teams whose mail waits
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setSending } from '../../../src/tenancy/instance/index.ts';
import { campaignIn } from '../../flow/campaign.ts';
import { explainQueries, rowsRead } from '../../rig/plans.ts';
import type { Team } from '../../rig/scene.ts';
import { startTrouble, type Trouble } from '../../rig/trouble.ts';
import { createAsked, deliveryRow, NOTHING } from './read-findings.ts';

const DAY_MS = 86_400_000;

let trouble: Trouble;
beforeAll(async () => {
  trouble = await startTrouble();
});
afterAll(() => trouble[Symbol.asyncDispose]());

const { ofTeam, ofOperator, ready, now, all } = createAsked(() => trouble);

describe('a finding about holds', () => {
  it('of a team is shown to it and to no other team, and the operator reads the reason', async () => {
    const other = await trouble.scene.team();
    const mend = await trouble.hold({ team_id: trouble.team.id });
    const told = await all();
    expect(told.team).toMatchObject([{ code: 'mail_held', severity: 'warning', count: 1, advice: { command: null } }]);
    expect(told.team[0]?.summary).toContain('Their server is being moved');
    expect(told.operator).toMatchObject([
      { code: 'mail_held', subjects: [`team ${trouble.team.id}`], advice: { command: 'rasket queue holds' } },
    ]);
    expect(told.ready).toMatchObject({ status: 'degraded', findings: [{ code: 'mail_held' }] });
    expect(JSON.stringify(told.ready)).not.toContain(trouble.team.id);
    expect(await ofTeam(other.key)).toEqual([]);
    await mend();
    expect(await all()).toMatchObject(NOTHING);
  });

  it('of an email is shown to its team only, and of an idle destination to the operator only, with a count', async () => {
    const { scene, team } = trouble;
    const other = await scene.team();
    const domain = await team.domain();
    const scheduled = new Date(scene.clock.now() + DAY_MS).toISOString();
    const body = { from: `a@${domain.name}`, to: 'b@held.example', subject: 's', text: 't', scheduled_at: scheduled };
    const { id } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
    const mends = [await trouble.hold({ email_id: id }), await trouble.hold({ destination: 'held.example' })];
    expect(await ofTeam()).toMatchObject([{ code: 'mail_held', count: 1, subjects: [`email ${id}`] }]);
    expect(await ofTeam(other.key)).toEqual([]);
    expect(await ofOperator()).toMatchObject([
      {
        code: 'mail_held',
        count: 2,
        subjects: [`email ${id}`, 'held.example'],
        summary: 'Mail is on hold by 2 holds.',
      },
    ]);
    for (const mend of mends) await mend();
    expect(await all()).toMatchObject(NOTHING);
  });
});

describe('a finding about mail held by its destination', () => {
  const hold = (destination: string) => trouble.hold({ destination });
  const mailTo = async (team: Team, ...to: string[]): Promise<void> => {
    const { name } = await team.domain();
    const body = { from: `a@${name}`, to, subject: 's', text: 't' };
    const sent = await trouble.scene.api('POST', '/emails', { key: team.key, body });
    expect(sent.status, sent.text).toBe(200);
    await trouble.scene.settled();
  };

  it('is shown with the count to the teams that have some, and to no other', async () => {
    const { scene, team } = trouble;
    const other = await scene.team();
    const idle = await scene.team();
    const since = now();
    const mend = await hold('kept.example');
    expect(await ofTeam()).toEqual([]);
    for (let i = 0; i < 3; i++) await mailTo(team, `a${i}@kept.example`, 'b@kept.example');
    await mailTo(other, 'c@kept.example');
    const told = await all();
    const summary = (says: string): string =>
      `The operator has put mail for kept.example on hold since ${since} (Their server is being moved): ${says}.`;
    expect(told.team).toEqual([
      {
        code: 'mail_held',
        severity: 'warning',
        summary: summary('3 of your deliveries wait'),
        count: 1,
        subjects: ['kept.example'],
        since,
        node: null,
        advice: { words: 'Ask the operator of this installation', command: null },
      },
    ]);
    expect(await ofTeam(other.key)).toMatchObject([{ summary: summary('1 of your deliveries waits') }]);
    expect(await ofTeam(idle.key)).toEqual([]);
    expect(told.operator).toMatchObject([{ code: 'mail_held', subjects: ['kept.example'] }]);
    expect(JSON.stringify(told.ready)).not.toContain('kept.example');
    const mendOther = await hold('also.example');
    await mailTo(team, 'd@also.example');
    expect(await ofTeam()).toMatchObject([
      { count: 2, summary: 'Mail is on hold by 2 holds: 4 of your deliveries wait.' },
    ]);
    await mend();
    await mendOther();
    await scene.settled();
    expect(await all()).toMatchObject(NOTHING);
  });

  it('counts by an index up to a thousand, however much of other teams is held', async () => {
    const { scene, team } = trouble;
    const { db } = scene.app.world;
    const other = await scene.team();
    const mend = await hold('many.example');
    const row = await db.get<{ id: string }>("select id from queue_holds where value = 'many.example'");
    const keep = (of: Team, count: number): Promise<void> => {
      const rows = Array.from({ length: count }, () =>
        deliveryRow(scene, { destination: 'many.example', team_id: of.id, hold_id: row?.id ?? '', due_at: 0, lane: 0 }),
      );
      return db
        .insertMany(
          'deliveries',
          Object.keys(rows[0] ?? {}),
          rows.map((one) => Object.values(one)),
        )
        .then(() => undefined);
    };
    await keep(other, 1001);
    await keep(team, 1);
    await db.withKnex((knex) => knex.raw('analyze'));
    const [plan = '', ...more] = await explainQueries(db, () => ofTeam(), 'from queue_holds', 'deliveries');
    expect(more).toEqual([]);
    expect(plan).toContain('deliveries_held_by_team');
    expect(plan).not.toMatch(/SCAN deliveries|Seq Scan on deliveries/);
    expect(rowsRead(plan)).toBeLessThanOrEqual(2);
    expect((await ofTeam())[0]?.summary).toContain('1 of your deliveries waits');
    expect((await ofTeam(other.key))[0]?.summary).toContain('more than 1000 of your deliveries wait');
    await db.run("delete from deliveries where destination = 'many.example'");
    await mend();
  });
});

describe('a finding about switched-off marketing mail', () => {
  it('is shown to the operator, and to the teams whose broadcasts wait', async () => {
    const { scene, team } = trouble;
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['ada@example.org']);
    const later = new Date(scene.clock.now() + DAY_MS).toISOString();
    const ids = [await campaign.broadcast({ scheduled_at: later }), await campaign.broadcast({ scheduled_at: later })];
    const switchTo = (isOn: boolean, reason?: string) =>
      setSending(scene.app.world, { isOn, reason }, 'sending.marketing');
    const since = now();
    await switchTo(false, 'Complaints');
    const off = { code: 'marketing_off', severity: 'warning', since, node: null };
    expect(await ofOperator()).toMatchObject([
      {
        ...off,
        summary: 'Marketing mail is switched off: Complaints.',
        subjects: [],
        advice: { command: 'rasket sending on --marketing' },
      },
    ]);
    expect((await ready()).findings).toMatchObject([
      { code: 'marketing_off', summary: 'Marketing mail is switched off.' },
    ]);
    const theirs = () => ofTeam(campaign.team.key);
    expect(await theirs(), 'not due yet').toEqual([]);
    scene.clock.advance(DAY_MS);
    await scene.settled();
    expect(await theirs()).toMatchObject([
      {
        ...off,
        count: 2,
        subjects: ids,
        summary: 'Marketing mail is switched off: Complaints. 2 of your broadcasts wait for it.',
        advice: { words: expect.stringContaining('operator'), command: null },
      },
    ]);
    expect(await ofTeam(team.key)).toEqual([]);
    await campaign.call('POST', `/broadcasts/${ids[0]}/cancel`);
    expect((await theirs())[0]?.summary).toContain('1 of your broadcasts waits for it');
    await switchTo(true);
    expect(await all()).toMatchObject(NOTHING);
    expect(await theirs()).toEqual([]);
  });
});
