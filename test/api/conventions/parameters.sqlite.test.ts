import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import {
  formatLabel,
  lists,
  makers,
  operations,
  pagedLists,
  buildQuery,
  sampleCall,
  unsigned,
} from './sample-calls.ts';

// The first call of an operation waits until the checks of its answers are compiled, and this test calls them all.
vi.setConfig({ testTimeout: 240_000 });

describe('path and query parameters', () => {
  let scene: Scene;
  let team: Team;
  const own: Record<string, string> = {};
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    for (const [name, make] of Object.entries(makers)) own[name] = await make(scene, team);
  });
  afterAll(() => scene.close());

  const buildUrl = (operation: (typeof operations)[number], query: string): string =>
    `${sampleCall(operation, own).path}?${buildQuery(operation, query)}`;

  const refused = (name: string | RegExp) => ({
    status: 422,
    body: { name: 'invalid_parameter', message: expect.stringMatching(name) as string },
  });

  it('return 422 for an unknown query parameter on every operation, and name it', async () => {
    for (const operation of unsigned) {
      const { method, path, body } = sampleCall(operation, own);
      for (const query of ['surprise=1', 'surprise', 'surprise=', '__proto__=1', 'constructor=1']) {
        const answer = await scene.api(method, `${path}?${query}`, { key: team.key, body });
        expect(answer, formatLabel(operation)).toMatchObject(refused(query.split('=')[0] ?? ''));
      }
    }
  });

  it('ignore an empty query', async () => {
    for (const path of ['/emails?', '/emails?&', '/emails?&&']) {
      expect((await scene.api('GET', path, { key: team.key })).status).toBe(200);
    }
  });

  it('return 422 for a query parameter given twice, for every parameter of every operation', async () => {
    for (const operation of unsigned) {
      for (const parameter of operation.parameters.filter(({ in: place }) => place === 'query')) {
        const { method, path } = sampleCall(operation, own);
        const pair = `${parameter.name}=${encodeURIComponent(String(parameter.example))}`;
        const answer = await scene.api(method, `${path}?${pair}&${pair}`, { key: team.key });
        expect(answer, `${formatLabel(operation)}?${pair}`).toMatchObject(refused(parameter.name));
      }
    }
  });

  it('return 422 for a path id that is not an id on every operation, and name it', async () => {
    const wrong = ['x', '1', '00000000-0000-0000-0000-00000000000', `${randomUUID()}0`, '%20', '%00', '%F0%9F%98%80'];
    // Any word may be the token of a link: an unknown one gets the same answer as an expired one.
    const taking = unsigned.filter(({ parameters }) => parameters.some((p) => p.in === 'path' && p.name !== 'token'));
    for (const operation of taking) {
      const name = operation.parameters.find((p) => p.in === 'path')?.name ?? '';
      // Nearly every word may be the alias of a template or the name of an event.
      for (const id of ['template', 'identifier'].includes(name)
        ? wrong.filter((text) => text.startsWith('%'))
        : wrong) {
        const { method, path, body } = sampleCall(operation, { [name]: id });
        const answer = await scene.api(method, path, { key: team.key, body });
        expect(answer, `${method} ${path}`).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
      }
    }
  });

  it('return 422 for a cursor that is not an id of the list', async () => {
    for (const operation of lists) {
      for (const cursor of ['after', 'before']) {
        for (const value of ['', 'x', '1', '%00', `${randomUUID()}x`]) {
          const answer = await scene.api('GET', buildUrl(operation, `${cursor}=${value}`), { key: team.key });
          expect(answer, `${formatLabel(operation)}?${cursor}=${value}`).toMatchObject({ status: 422 });
        }
      }
    }
  });

  it('refuse after and before together', async () => {
    // Parked events are read in one direction.
    for (const operation of pagedLists.filter(({ parameters }) => parameters.some(({ name }) => name === 'before'))) {
      const cursor = String(operation.parameters.find(({ name }) => name === 'after')?.example);
      const answer = await scene.api('GET', buildUrl(operation, `after=${cursor}&before=${cursor}`), { key: team.key });
      expect(answer, formatLabel(operation)).toMatchObject(refused(/after and before/));
    }
  });

  const badLimits = ['0', '101', '-1', 'abc', '1.5', '', '%20', '1e1', '0x10', '%2B5', '٣', '9'.repeat(30), 'null'];
  it.each(badLimits)('return 422 for limit=%s on every list', async (limit) => {
    for (const operation of lists) {
      const answer = await scene.api('GET', buildUrl(operation, `limit=${encodeURI(limit)}`), { key: team.key });
      expect(answer, formatLabel(operation)).toMatchObject(refused('limit must be a whole number from 1 to 100'));
    }
  });

  it.each(['1', '100', '20'])('accept limit=%s on every list', async (limit) => {
    for (const operation of lists) {
      const answer = await scene.api('GET', buildUrl(operation, `limit=${limit}`), { key: team.key });
      expect(answer.status, formatLabel(operation)).toBe(200);
    }
  });

  it('return 422 for an unknown enum value, and list the known ones', async () => {
    for (const operation of operations) {
      for (const parameter of operation.parameters) {
        const values = (parameter.schema as { enum?: string[] }).enum;
        if (parameter.in !== 'query' || !values) continue;
        for (const value of ['nonsense', '', values[0]?.toUpperCase()]) {
          const answer = await scene.api('GET', buildUrl(operation, `${parameter.name}=${value}`), { key: team.key });
          expect(answer, `${formatLabel(operation)}?${parameter.name}=${value}`).toMatchObject(
            refused(values[0] ?? ''),
          );
        }
      }
    }
  });

  it('return 422 for text that a database cannot store: NUL, and bytes that are not UTF-8', async () => {
    for (const text of ['a%00', '%00', '%ff', 'a%C3', '%ED%A0%80', '%C0%80']) {
      for (const path of [`/emails?search=${text}`, `/api-keys?search=${text}`, `/suppressions/${text}@example.org`]) {
        const answer = await scene.api('GET', path, { key: team.key });
        expect(answer, path).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
      }
    }
  });

  it('take a percent sign that begins no escape literally', async () => {
    const query = await scene.api('GET', '/emails?search=100%', { key: team.key });
    expect(query).toMatchObject({ status: 200, body: { data: [] } });
    const path = await scene.api('GET', '/suppressions/a%zz@example.org', { key: team.key });
    expect(path).toMatchObject({ status: 404, body: { name: 'not_found' } });
  });

  it('accept an address in a path as it is or percent-encoded', async () => {
    const email = 'a+b!#$&*=@example.org';
    await scene.api('POST', '/suppressions', { key: team.key, body: { email } });
    for (const path of ['a+b!%23$&*=@example.org', encodeURIComponent(email), 'A+B!%23$&*=@EXAMPLE.org']) {
      const answer = await scene.api('GET', `/suppressions/${path}`, { key: team.key });
      expect(answer, path).toMatchObject({ status: 200, body: { email } });
    }
  });
});
