import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KEPT_TABLES, listUnknownTables, removeTeam, TEAM_PATHS } from '../../src/features/customers/index.ts';
import { tableShapes, type Value } from '../../src/platform/db/index.ts';
import { keepTeam, listDeletions, requestDeletion } from '../../src/tenancy/teams/index.ts';
import { billingScene, closed, givePlan, until } from '../api/billing/billing-scene.ts';
import { findTraces, findTracesInFiles, plantInEveryTable, type Planted, type Planting } from '../rig/every-table.ts';
import { createPeople } from '../rig/people.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { HOUR } from './mail.ts';

const DAY = 24 * HOUR;
const MINUTE = 60_000;
/** The program itself takes these rows up, or counts in them. */
const WORKED_ON: ReadonlySet<string> = new Set(['failed_sign_ins', 'rate_limits']);

let scene: Scene;
beforeAll(async () => void (scene = await startScene()));
afterAll(() => scene.close());

const runJob = async (): Promise<void> =>
  void (await scene.app.jobs.find(({ name }) => name === 'delete-teams')?.run(new AbortController().signal));

interface Customer extends Planting {
  team: Team;
  planted: Planted;
}

/** A team with a row in every table, and files. */
async function createCustomer(word: string): Promise<Customer> {
  const team = await scene.team(`${word} Ltd`);
  const domain = await team.domain(`${word}.example.com`);
  const planting = { teamId: team.id, word, email: `ada@${word}.example`, domain };
  const planted = await plantInEveryTable(scene.app.world.db, planting);
  return { ...planting, team, planted };
}

const remove = (team: Team, isNow = false) =>
  requestDeletion(scene.app.world, { team: team.id, reason: 'The contract ended', requestedBy: 'root', isNow });

describe('the deletion of a team', () => {
  it('leaves nothing in any table and any file but its invoices and the report, and nothing of another team changes', async () => {
    const { db, blobs } = scene.app.world;
    const gone = await createCustomer('quetzalcoatl');
    const other = await createCustomer('bystanders');
    const both = await createPeople(scene).person({ email: 'both@people.example', team: other.team });
    await db.insertMany(
      'team_members',
      ['id', 'team_id', 'user_id', 'role', 'created_at'],
      [[scene.app.world.ids.uuid(), gone.teamId, both.userId, 'owner', 1]],
    );
    const owner = gone.planted.ids.get('emails') ?? '';
    const image = gone.planted.ids.get('images') ?? '';
    await blobs.putAll([owner, image].map((id) => ({ key: `${id}/file`, content: Buffer.from(gone.word) })));
    await blobs.linkAll([{ from: `${owner}/file`, to: `${other.planted.ids.get('emails')}/shared` }]);
    expect(gone.planted.tables.length).toBeGreaterThan(110);
    const before = await findTraces(db, other.planted.traces);
    await remove(gone.team, true);
    await runJob();
    // Records that were published at a DNS provider are removed there for a week; this one knows no such provider.
    const waiting = await findTraces(db, gone.planted.traces);
    expect(Object.keys(waiting)).toEqual(expect.arrayContaining(['dns_published', 'dns_setups', 'teams']));
    expect(waiting).not.toHaveProperty('emails');
    scene.clock.advance(7 * DAY);
    await runJob();
    scene.clock.advance(MINUTE);
    await runJob();
    const found = await findTraces(db, [...gone.planted.traces, gone.team.key]);
    expect(Object.keys(found).sort()).toEqual(['audit_log', 'invoices']);
    expect(found.audit_log).toHaveLength(1);
    expect(found.audit_log?.[0]).toContain('The contract ended');
    const folder = path.join(scene.dataDir, 'blobs');
    expect(findTracesInFiles(folder, gone.planted.traces)).toEqual([
      path.join(
        folder,
        other.planted.ids.get('emails')?.slice(-2) ?? '',
        other.planted.ids.get('emails') ?? '',
        'shared',
      ),
    ]);
    const after = await findTraces(db, other.planted.traces);
    const lost = Object.keys(before).filter((name) => before[name]?.some((row) => !after[name]?.includes(row)));
    expect(lost.filter((name) => !WORKED_ON.has(name))).toEqual([]);
    const teams = (await both.call('GET', '/teams')).body.data as { id: string }[];
    expect(teams.map(({ id }) => id)).toEqual([other.teamId]);
  });

  it('names no table that the database lacks, and knows every table that it has', async () => {
    const shapes = await tableShapes(scene.app.world.db);
    expect(listUnknownTables(shapes)).toEqual([]);
    const names = new Set(shapes.map(({ name }) => name));
    const onSqlite = scene.app.world.db.dialect === 'sqlite';
    const known = [
      ...TEAM_PATHS.filter(({ only }) => only === undefined || onSqlite).map(({ table }) => table),
      ...Object.keys(KEPT_TABLES),
    ];
    expect(known.filter((name) => !names.has(name) && !(onSqlite && name === 'table_changes'))).toEqual([]);
    const added = [...shapes, { name: 'a_new_table', columns: [], key: [], parents: [] }];
    expect(listUnknownTables(added)).toEqual(['a_new_table']);
  });

  it('suspends the team at once, begins after the grace period, and can be taken back until then', async () => {
    const team = await scene.team('Wavering Ltd');
    const { deletion } = await remove(team);
    expect(deletion.due_at - scene.clock.now()).toBe(7 * DAY);
    expect((await scene.api('GET', '/team', { key: team.key })).body.name).toBe('suspended_api_key');
    await expect(remove(team)).rejects.toThrow('is to be deleted on');
    const listed = await listDeletions(scene.app.world.db);
    expect(listed.filter(({ team_id: id }) => id === team.id)).toEqual([deletion]);
    scene.clock.advance(7 * DAY - 1);
    await runJob();
    await keepTeam(scene.app.world, 'wavering-ltd');
    scene.clock.advance(DAY);
    await runJob();
    expect((await scene.api('GET', '/team', { key: team.key })).body.name).toBe('Wavering Ltd');
    await expect(keepTeam(scene.app.world, 'wavering-ltd')).rejects.toThrow('is not to be deleted');
    await remove(team);
    scene.clock.advance(7 * DAY);
    await runJob();
    await expect(keepTeam(scene.app.world, team.id)).rejects.toThrow('is being removed since');
    expect((await scene.api('GET', '/team', { key: team.key })).status).toBe(401);
    // The name and the domain are free again.
    expect((await scene.team('Wavering Ltd')).id).not.toBe(team.id);
  });

  it('leaves an account as it is when the person joins another team while the members are removed', async () => {
    const { world } = scene.app;
    const { db, ids } = world;
    const gone = await scene.team('Gone Ltd');
    const other = await scene.team('Other Ltd');
    const joins = await createPeople(scene).person({ email: 'joins@people.example', team: gone });
    const leaves = await createPeople(scene).person({ email: 'leaves@people.example', team: gone });
    await db.insertMany(
      'mfa_secrets',
      ['id', 'user_id', 'secret', 'created_at', 'confirmed_at'],
      [joins, leaves].map(({ userId }) => [ids.uuid(), userId, 'x', 1, 1]),
    );
    const read = async (userId: string) => ({
      teams: (await db.all('select team_id from team_members where user_id = ?', [userId])).map((row) => row.team_id),
      sessions: (await db.all('select id from sessions where user_id = ?', [userId])).length,
      secrets: (await db.all('select id from mfa_secrets where user_id = ?', [userId])).length,
      users: (await db.all('select id from users where id = ?', [userId])).length,
    });
    const before = await read(joins.userId);
    expect(before.sessions).toBeGreaterThan(0);
    await remove(gone, true);
    let hasJoined = false;
    const joining: typeof db = {
      ...db,
      async all<T>(sql: string, values?: readonly Value[]) {
        const rows = await db.all<T>(sql, values);
        if (hasJoined || !sql.includes('from team_members m join users')) return rows;
        hasJoined = true;
        const member = [ids.uuid(), other.id, joins.userId, 'member', 1];
        await db.insertMany('team_members', ['id', 'team_id', 'user_id', 'role', 'created_at'], [member]);
        return rows;
      },
    };
    const end = await removeTeam({ ...world, db: joining }, gone.id);
    expect(hasJoined).toBe(true);
    expect(await read(joins.userId)).toEqual({ ...before, teams: [other.id] });
    expect(await read(leaves.userId)).toEqual({ teams: [], sessions: 0, secrets: 0, users: 0 });
    expect(end).toMatchObject({ kind: 'removed', counts: { users: 1, team_members: 2, mfa_secrets: 1 } });
  });

  it('ends the grace period of an earlier request, and keeps the reason of the later one', async () => {
    const team = await scene.team('Hasty Ltd');
    await remove(team);
    const { deletion } = await requestDeletion(scene.app.world, {
      team: team.id,
      reason: 'They asked for it',
      requestedBy: 'root',
      isNow: true,
    });
    expect(deletion).toMatchObject({ due_at: scene.clock.now(), reason: 'They asked for it' });
    await runJob();
    expect((await scene.api('GET', '/team', { key: team.key })).status).toBe(401);
  });

  it('keeps what the last invoice is made of until its month is closed', async () => {
    await using billed = await billingScene({}, { roles: [] });
    const team = await billed.team('Billed Ltd');
    await givePlan(billed, team, 'pro');
    const { db } = billed.app.world;
    const open = "update teams set archive_enabled = 1, archive_indexed = 1, archive_token = 'token' where id = ?";
    await db.run(open, [team.id]);
    const run = () => billed.app.jobs.find(({ name }) => name === 'delete-teams')?.run(new AbortController().signal);
    const rows = async (table: string) =>
      (await db.all(`select team_id from ${table} where team_id = ?`, [team.id])).length;
    until(billed, '2026-11-11T00:00:00Z');
    await requestDeletion(billed.app.world, { team: team.id, reason: 'x', requestedBy: null, isNow: true });
    for (let day = 0; day < 3; day++) {
      await run();
      billed.clock.advance(DAY);
    }
    expect(await rows('team_plans')).toBeGreaterThan(0);
    const kept = await db.get('select archive_enabled, archive_indexed, archive_token from teams where id = ?', [
      team.id,
    ]);
    expect(kept).toEqual({ archive_enabled: 0, archive_indexed: 0, archive_token: null });
    expect(await rows('invoices')).toBe(0);
    until(billed, '2026-12-02T00:00:00Z');
    await closed(billed);
    await run();
    expect(await rows('team_plans')).toBe(0);
    // Ten of thirty days of a plan that costs 20 dollars a month.
    const [invoice] = await db.all<{ content: string }>('select content from invoices where team_id = ?', [team.id]);
    expect(JSON.parse(invoice?.content ?? '')).toMatchObject({ total_cents: 667 });
  });
});
