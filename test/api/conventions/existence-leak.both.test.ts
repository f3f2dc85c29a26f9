import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiAnswer } from '../../rig/api.ts';
import { driver } from '../../rig/database.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { dealt, keyed, formatLabel, makers, buildQuery, sampleCall } from './sample-calls.ts';

/** Ids that no key of a team may name in a path. */
const OF_OPERATORS: ReadonlySet<string> = new Set(['oauth_client_id']);

/** Ids that are not plain UUIDs. */
const PREFIXES: Record<string, string> = {
  suppression: 'sup_',
  attachment_id: 'att_',
  received_attachment_id: 'att_',
  webhook_id: 'wh_',
  event_id: 'msg_',
};

// A difference between "not yours" and "not there" would tell a caller which ids exist.
describe('an object of another team gets the same answer, byte for byte, as one that does not exist', () => {
  let scene: Scene;
  let owner: Team;
  let stranger: Team;
  const theirs: Record<string, string> = {};
  const nobodys: Record<string, string> = {};
  beforeAll(async () => {
    scene = await startScene();
    owner = await scene.team();
    stranger = await scene.team();
    // Without it, a diagnosis is refused before the email is looked up.
    for (const { key } of [owner, stranger])
      await scene.api('PATCH', '/team', { key, body: { ai_assist_enabled: true } });
    for (const [name, make] of Object.entries(makers)) {
      theirs[name] = await make(scene, owner);
      nobodys[name] = name in PREFIXES ? PREFIXES[name] + randomUUID().replaceAll('-', '') : randomUUID();
    }
  });
  afterAll(() => scene.close());

  const taking = keyed.filter((operation) => operation.parameters.some((parameter) => parameter.in === 'path'));

  it.each(taking.map((operation) => [formatLabel(operation), operation] as const))('in %s', async (_, operation) => {
    const ask = async (ids: Record<string, string>): Promise<ApiAnswer> => {
      // The bucket is full again, so that its remaining count does not differ either.
      scene.clock.advance(10_000);
      const { method, path, body } = sampleCall(operation, ids);
      return scene.api(method, `${path}?${buildQuery(operation, '')}`, { key: stranger.key, body });
    };
    const foreign = await ask(theirs);
    const absent = await ask(nobodys);
    expect(foreign).toMatchObject({ status: 404, body: { name: 'not_found' } });
    expect(comparable(foreign)).toEqual(comparable(absent));
  });

  it('in each of the path parameters, all of which are tried here', () => {
    const names = taking.flatMap(({ parameters }) => parameters.filter((p) => p.in === 'path').map((p) => p.name));
    const made = Object.keys(makers).filter((name) => !OF_OPERATORS.has(name));
    expect(made.sort()).toEqual([...new Set(names)].sort());
  });

  it('under its id in the route of another family, which returns 404', async () => {
    const uuids = Object.entries(theirs).filter(([name]) => !(name in PREFIXES));
    const findPathParameter = ({ parameters }: (typeof taking)[number]): string =>
      parameters.find((parameter) => parameter.in === 'path')?.name ?? '';
    for (const [own, operations] of Map.groupBy(taking, findPathParameter)) {
      if (own in PREFIXES) continue;
      // An email that an inbox received is the received email itself.
      const same = own === 'received_email_id' ? 'inbox_email_id' : own;
      // The operations that look into other tables are the same on both databases, so PostgreSQL, where rows are read
      // otherwise, tests only some.
      for (const [at, [name, id]] of uuids.entries()) {
        if (name === own || name === same) continue;
        for (const operation of driver === 'pg' ? dealt(operations, at) : operations) {
          const { method, path, body } = sampleCall(operation, { [own]: id });
          const answer = await scene.api(method, `${path}?${buildQuery(operation, '')}`, { key: owner.key, body });
          expect(answer.status, `${formatLabel(operation)} with a ${name}`).toBe(404);
        }
      }
    }
  });

  it('as a suppressed address', async () => {
    for (const method of ['GET', 'DELETE']) {
      scene.clock.advance(10_000);
      const foreign = await scene.api(method, '/suppressions/gone@example.org', { key: stranger.key });
      scene.clock.advance(10_000);
      const absent = await scene.api(method, '/suppressions/none@example.org', { key: stranger.key });
      expect(foreign.status).toBe(404);
      expect(comparable(foreign)).toEqual(comparable(absent));
    }
  });

  it('as domain_id in the body of POST /api-keys', async () => {
    const ask = async (id: string): Promise<ApiAnswer> => {
      scene.clock.advance(10_000);
      const body = { name: 'Pinned', permission: 'sending_access', domain_id: id };
      return scene.api('POST', '/api-keys', { key: stranger.key, body });
    };
    const theirId = theirs['domain_id'] ?? '';
    const nobodysId = randomUUID();
    const foreign = await ask(theirId);
    const absent = await ask(nobodysId);
    expect(foreign.status).toBe(422);
    expect(comparable(foreign).text.replaceAll(theirId, 'ID')).toBe(
      comparable(absent).text.replaceAll(nobodysId, 'ID'),
    );
  });

  it('as ids and addresses in the body of POST /suppressions/batch/remove', async () => {
    const ask = (body: object) => scene.api('POST', '/suppressions/batch/remove', { key: stranger.key, body });
    for (const body of [{ ids: [theirs['suppression']] }, { emails: ['gone@example.org'] }]) {
      expect(await ask(body)).toMatchObject({ status: 200, body: { data: [] } });
    }
    const kept = await scene.api('GET', '/suppressions/gone@example.org', { key: owner.key });
    expect(kept.status).toBe(200);
  });

  it('as cursors and filters, which reveal nothing of it', async () => {
    const paths = [
      `/emails?after=${theirs['email_id']}`,
      `/emails?before=${theirs['email_id']}`,
      `/emails/receiving?before=${theirs['received_email_id']}`,
      `/domains?before=${theirs['domain_id']}`,
      `/api-keys?after=${theirs['api_key_id']}`,
      `/suppressions?before=${theirs['suppression']}`,
      `/emails?api_key_id=${theirs['api_key_id']}`,
      `/webhooks?after=${theirs['webhook_id']}`,
    ];
    for (const path of paths) {
      const answer = await scene.api('GET', path, { key: stranger.key });
      expect(answer.status, path).toBe(200);
      for (const id of Object.values(theirs)) expect(answer.text, path).not.toContain(id);
    }
  });

  it('and none of these calls changes it', async () => {
    for (const [name, id] of Object.entries(theirs)) {
      const path = { email_id: '/emails', domain_id: '/domains', suppression: '/suppressions', template: '/templates' }[
        name
      ];
      if (path) expect((await scene.api('GET', `${path}/${id}`, { key: owner.key })).status).toBe(200);
    }
    const keys = await scene.api('GET', '/api-keys', { key: owner.key });
    expect(keys.body.data.map((key: { id: string }) => key.id)).toContain(theirs['api_key_id']);
  });

  function comparable(answer: ApiAnswer): { status: number; text: string; headers: [string, string][] } {
    const headers = [...answer.headers].filter(([name]) => name !== 'x-request-id' && name !== 'date');
    return { status: answer.status, text: answer.text, headers };
  }
});
