import { expect, it } from 'vitest';
import { createPeople } from '../../rig/people.ts';
import { startScene } from '../../rig/scene.ts';

it('API responses are not cached by browsers or proxies, and public ones set their own caching', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const team = await scene.team();
  const person = await createPeople(scene).person({ team });
  const keptBy = async (path: string, init: RequestInit = {}): Promise<[number, string | null]> => {
    const headers = { 'user-agent': 'test', ...(init.headers as Record<string, string>) };
    const answer = await fetch(scene.url + path, { ...init, headers });
    await answer.arrayBuffer();
    return [answer.status, answer.headers.get('cache-control')];
  };
  const key = { headers: { authorization: `Bearer ${team.key}` } };
  expect(await keptBy('/emails', key)).toEqual([200, 'no-store']);
  expect(await keptBy('/emails/metrics', key)).toEqual([200, 'no-store']);
  expect(await keptBy(`/emails/${team.id}`, key)).toEqual([404, 'no-store']);
  expect(await keptBy('/nothing', key)).toEqual([404, 'no-store']);
  expect(await keptBy('/emails')).toEqual([401, 'no-store']);
  expect(await keptBy('/emails', { ...key, method: 'POST', body: '{' })).toEqual([400, 'no-store']);
  expect(await keptBy('/emails', { headers: { 'user-agent': '' } })).toEqual([403, 'no-store']);
  expect(await keptBy('/health')).toEqual([200, 'no-store']);
  const me = await person.call('GET', '/auth/me');
  expect([me.status, me.headers.get('cache-control')]).toEqual([200, 'no-store']);
  for (const path of ['/openapi.json', '/openapi.yaml', '/docs']) expect(await keptBy(path)).toEqual([200, 'no-cache']);
});
