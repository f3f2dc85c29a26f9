import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type App } from '../../src/app.ts';
import { setSending } from '../../src/tenancy/instance/index.ts';
import { createApi, type Api } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import { scaled } from '../rig/scale.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';

const ROUNDS = scaled(200);

// runs only with PostgreSQL: SQLite bears one process
describe.runIf(driver === 'pg')('a change at one node takes effect in the next response of another node for', () => {
  let scene: Scene;
  let node: App;
  let there: Api;
  let team: Team;
  let domain: { id: string; name: string };

  beforeAll(async () => {
    scene = await startScene({ roles: ['http'] });
    const { config, log } = scene.app.world;
    const { dataDir, clock } = scene;
    node = await startApp({ config, dataDir, clock, version: '0.0.0-test', log, roles: ['http'] });
    there = createApi(node.http?.url ?? '');
    team = await scene.team();
    domain = await team.domain();
  });
  afterAll(async () => {
    await node.close(0);
    await scene.close();
  });

  const send = (api: Api, key: string) =>
    api('POST', '/emails', {
      key,
      body: { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Hello', text: 'x' },
    });

  const cutListeners = () =>
    scene.app.world.db.all(`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'rasket listener' and datname = current_database()`);

  /** Made all at once: one after the other would take as long as what is tested. */
  async function keys(count: number): Promise<{ id: string; key: string }[]> {
    const make = async (n: number) => {
      const { body } = await scene.api('POST', '/api-keys', { key: team.key, body: { name: `Key ${n}` } });
      return { id: body.id as string, key: body.token as string };
    };
    return Promise.all(Array.from({ length: count }, (_, n) => make(n)));
  }

  it('a revoked key, also while the nodes cannot notify each other', async () => {
    for (const [round, { id, key }] of (await keys(ROUNDS)).entries()) {
      if (round >= ROUNDS / 2) await cutListeners();
      // From here on the other node remembers the key.
      expect((await there('GET', '/domains', { key })).status).toBe(200);
      expect((await scene.api('DELETE', `/api-keys/${id}`, { key: team.key })).status).toBe(200);
      const refused = await there('GET', '/domains', { key });
      expect([refused.status, refused.body.name]).toEqual([403, 'restricted_api_key']);
    }
  });

  it('the operator’s switch, off and on', async () => {
    for (let round = 0; round < ROUNDS / 10; round++) {
      expect((await send(there, team.key)).status).toBe(200);
      await setSending(scene.app.world, { isOn: false });
      expect((await send(there, team.key)).status).toBe(503);
      await setSending(scene.app.world, { isOn: true });
    }
  });

  it('a suspended team, and a resumed one', async () => {
    const { db } = scene.app.world;
    for (let round = 0; round < ROUNDS / 10; round++) {
      expect((await send(there, team.key)).status).toBe(200);
      // Somebody with psql does this, and no code of ours can notify the nodes.
      await db.run('/* by hand */ update teams set risk_state = ? where id = ?', ['suspended', team.id]);
      expect((await send(there, team.key)).body.name).toBe('suspended_api_key');
      await db.run('/* by hand */ update teams set risk_state = ? where id = ?', ['normal', team.id]);
    }
  });

  it('an operator’s token', async () => {
    const token = await scene.operator('Grace');
    for (let n = 0; n < 2; n++) expect((await there('GET', '/operator/findings', { key: token })).status).toBe(200);
    const { db, clock } = scene.app.world;
    await db.run('update operators set revoked_at = ? where name = ?', [clock.now(), 'Grace']);
    expect((await there('GET', '/operator/findings', { key: token })).status).toBe(403);
  });

  it('a template that is published again', async () => {
    const key = team.key;
    const body = { name: 'Greeting', alias: 'greeting', subject: 'One', html: '<p>x</p>' };
    const { id } = (await scene.api('POST', '/templates', { key, body })).body as { id: string };
    for (const subject of ['One', 'Two', 'Three']) {
      await scene.api('PATCH', `/templates/${id}`, { key, body: { subject } });
      expect((await scene.api('POST', `/templates/${id}/publish`, { key })).status).toBe(200);
      const mail = { from: `a@${domain.name}`, to: 'x@example.org', template: { id } };
      const sent = await there('POST', '/emails', { key, body: mail });
      expect((await there('GET', `/emails/${sent.body.id as string}`, { key })).body.subject).toBe(subject);
    }
  });

  it('a domain that is removed', async () => {
    for (let n = 0; n < 2; n++) expect((await send(there, team.key)).status).toBe(200);
    expect((await scene.api('DELETE', `/domains/${domain.id}`, { key: team.key })).status).toBe(200);
    expect((await send(there, team.key)).status).toBe(403);
  });

  it('all objects, although keys, teams and domains are read once for many emails', async () => {
    domain = await team.domain();
    await send(there, team.key);
    const asked: string[] = [];
    const { db } = node.world;
    const { get } = db;
    db.get = (...call) => {
      asked.push(call[0]);
      return get(...call);
    };
    try {
      for (let n = 0; n < 5; n++) expect((await send(there, team.key)).status).toBe(200);
    } finally {
      db.get = get;
    }
    expect(asked.filter((sql) => /from (api_keys|domains|instance_settings)/.test(sql))).toEqual([]);
  });
});
