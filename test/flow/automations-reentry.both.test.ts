// an automation that a contact does not enter again, or not while it is in it --> events one after the other and at once
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { line, start, step, supply, wait, type Supplies } from '../api/automations/graph.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { HOUR } from './mail.ts';

const DAY = 24 * HOUR;

describe('a contact and an automation:', () => {
  let scene: Scene;
  let has: Supplies;
  beforeAll(async () => {
    scene = await startScene();
  });
  afterAll(() => scene.close());
  beforeEach(async () => {
    has = await supply(scene);
  });

  const call = async (method: string, path: string, body?: object) => {
    const answer = await scene.api(method, path, { key: has.team.key, ...(body && { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  const make = async (reentry: string | undefined, event = 'order'): Promise<string> => {
    const graph = line({ ...start, config: { event_name: event } } as typeof start, wait('w'));
    return (await call('POST', '/automations', { name: 'A', status: 'enabled', ...(reentry && { reentry }), ...graph }))
      .id;
  };
  const send = (contact = has.contact) => call('POST', '/events/send', { event: 'order', contact_id: contact });
  const runs = async (id: string) =>
    (await call('GET', `/automations/${id}/runs`)).data as { status: string; contact_id: string }[];

  it('it enters whenever its event happens by default', async () => {
    const id = await make(undefined);
    expect(await call('GET', `/automations/${id}`)).toMatchObject({ reentry: 'always' });
    await send();
    await send();
    expect(await runs(id)).toMatchObject([{ contact_id: has.contact }, { contact_id: has.contact }]);
  });

  it('it enters again when its run has ended in any way', async () => {
    const id = await make('when_ended');
    const { id: other } = await call('POST', '/contacts', { email: 'bob@example.org' });
    await send();
    await send();
    await send(other as string);
    await scene.settled();
    await send();
    expect(await runs(id)).toHaveLength(2);
    scene.clock.advance(DAY);
    await scene.settled();
    await send();
    expect(await runs(id)).toHaveLength(3);
    await call('POST', `/automations/${id}/stop`);
    await call('PATCH', `/automations/${id}`, { status: 'enabled' });
    await send();
    expect((await runs(id)).map(({ status }) => status)).toEqual(['running', 'cancelled', 'completed', 'completed']);
  });

  it('with “never” it enters once, also after its run was removed, and a recreated contact counts as another', async () => {
    const id = await make('never');
    const { id: contact } = await call('POST', '/contacts', { email: 'eve@example.org' });
    await send(contact as string);
    await send(contact as string);
    await scene.settled();
    scene.clock.advance(DAY);
    await scene.settled();
    await send(contact as string);
    expect(await runs(id)).toMatchObject([{ status: 'completed' }]);
    await scene.app.world.db.run('delete from automation_runs where automation_id = ?', [id]);
    await send(contact as string);
    expect(await runs(id)).toEqual([]);
    await call('DELETE', `/contacts/${contact}`);
    const { id: anew } = await call('POST', '/contacts', { email: 'eve@example.org' });
    await send(anew as string);
    expect(await runs(id)).toHaveLength(1);
    const entries = () =>
      scene.app.world.db.all('select contact_id from automation_entries where automation_id = ?', [id]);
    expect(await entries()).toEqual([{ contact_id: anew }]);
    await call('DELETE', `/automations/${id}`);
    expect(await entries()).toEqual([]);
  });

  it('runs from before the setting count as well, and runs that a limit prevented do not', async () => {
    const id = await make('always');
    await send();
    await call('PATCH', `/automations/${id}`, { reentry: 'never' });
    await send();
    expect(await runs(id)).toHaveLength(1);
    await call('PATCH', `/automations/${id}`, { reentry: 'always' });
    await send();
    expect(await runs(id)).toHaveLength(2);
    await call('PATCH', `/automations/${id}`, { reentry: 'never' });
    const { id: kept } = await call('POST', '/contacts', { email: 'kept@example.org' });
    const sql = `insert into automation_runs (id, team_id, automation_id, version, contact_id, status, due_at, created_at, completed_at, error)
      values (?, ?, ?, 1, ?, 'cancelled', 1, 1, 1, 'not begun')`;
    await scene.app.world.db.run(sql, [scene.app.world.ids.uuid(), has.team.id, id, kept as string]);
    await send(kept as string);
    expect((await runs(id)).filter(({ contact_id: contact }) => contact === kept)).toMatchObject([
      { status: 'running' },
      { status: 'cancelled' },
    ]);
  });

  it.each(['when_ended', 'never'])('it enters once when its event happens many times at once: %s', async (reentry) => {
    const id = await make(reentry);
    const other = await make(undefined);
    await Promise.all(Array.from({ length: 30 }, () => send()));
    expect(await runs(id)).toHaveLength(1);
    expect((await call('GET', `/automations/${other}`)).runs).toMatchObject({ running: 30 });
  });

  it('it enters once for one call that adds it to several segments', async () => {
    const id = await make('when_ended', 'rasket:contact.added_to_segment');
    const { id: more } = await call('POST', '/segments', { name: 'More' });
    await call('POST', '/contacts', { email: 'fay@example.org', segments: [has.segment, more] });
    expect(await runs(id)).toHaveLength(1);
  });

  it('the setting is copied with the automation, and invalid values are refused', async () => {
    const id = await make('never');
    const copy = await call('POST', `/automations/${id}/duplicate`);
    expect(await call('GET', `/automations/${copy.id}`)).toMatchObject({ reentry: 'never' });
    const bad = await scene.api('PATCH', `/automations/${id}`, { key: has.team.key, body: { reentry: 'once' } });
    expect([bad.status, bad.body]).toMatchObject([
      400,
      { name: 'validation_error', message: expect.stringContaining('reentry must be always, when_ended or never') },
    ]);
  });

  it('runs beyond the limit are recorded at most ten times an hour', async () => {
    // Each changes what the other set: one change begins more and more.
    const id = await make('always', 'rasket:contact.updated');
    const change = step('x', 'contact_update', { last_name: 'x' });
    const graph = line({ ...start, config: { event_name: 'rasket:contact.updated' } } as typeof start, change);
    await call('POST', '/automations', { name: 'B', status: 'enabled', ...graph });
    for (let n = 0; n < 112; n++) await call('PATCH', `/contacts/${has.contact}`, { last_name: `A${n}` });
    await scene.settled();
    expect((await call('GET', `/automations/${id}`)).runs).toMatchObject({ running: 100, cancelled: 10 });
  });
});
