import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTrouble, type Trouble } from '../../rig/trouble.ts';
import { startScene } from '../../rig/scene.ts';
import { createAsked, NOTHING } from './read-findings.ts';

const HOUR_MS = 3_600_000;

let trouble: Trouble;
beforeAll(async () => {
  trouble = await startTrouble();
});
afterAll(() => trouble[Symbol.asyncDispose]());

const { all, now } = createAsked(() => trouble);
const forwarded = { 'x-forwarded-for': '203.0.113.7' };

it('an unknown proxy is reported, once in the log, until an hour after its last request', async () => {
  const { scene } = trouble;
  expect(await all()).toMatchObject(NOTHING);
  const since = now();
  for (let n = 0; n < 3; n++) await scene.api('GET', '/health', { headers: forwarded });
  const told = { code: 'proxy_not_trusted', severity: 'warning', since };
  const advised = { ...told, subjects: ['127.0.0.1'], advice: { command: 'rasket config show' } };
  expect(await all()).toMatchObject({ team: [{ code: told.code }], operator: [advised] });
  expect(scene.log.filter((line) => line.includes('a proxy that is not trusted'))).toHaveLength(1);
  scene.clock.advance(HOUR_MS);
  expect(await all()).toMatchObject(NOTHING);
});

it('a configured proxy is trusted and not reported', async () => {
  await using scene = await startScene({ config: { http: { trusted_proxies: ['127.0.0.1/32'] } } });
  await scene.api('GET', '/health', { headers: forwarded });
  expect(scene.log.join()).not.toContain('a proxy that is not trusted');
});
