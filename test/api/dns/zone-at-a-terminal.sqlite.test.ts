import { afterAll, beforeAll, expect, it } from 'vitest';
import { runInProcess } from '../../cli/in-process.ts';
import type { AnyBody } from '../../rig/api.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { readZoneFile, type ZoneRecord } from '../../rig/zone-reader.ts';

let scene: Scene;
let team: Team;
let domain: AnyBody;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
  const body = { name: 'mail.example.com', click_tracking: true };
  domain = (await scene.api('POST', '/domains', { key: team.key, body })).body;
});
afterAll(() => scene.close());

const wanted = (): ZoneRecord[] =>
  domain.records.map(({ name, type, value, priority }: AnyBody) => ({
    name,
    type,
    data: type === 'MX' ? `${priority} ${value}` : value,
  }));

// A key of 2048 bits takes more than the 255 bytes of one string.
it.each([
  { words: ['domains', 'zone', 'mail.example.com'], columns: 40 },
  { words: ['domains', 'zone', 'mail.example.com'], columns: 60 },
  { words: ['domains', 'zone', 'mail.example.com'], columns: 80 },
  { words: ['domains', 'zone', 'mail.example.com'], columns: undefined },
  { words: ['domains', 'get', 'mail.example.com', '--zone'], columns: 40 },
  { words: ['domains', 'get', 'mail.example.com', '--zone'], columns: undefined },
])('a zone file is printed as it is published at any width: $words, $columns', async ({ words, columns }) => {
  expect(wanted().some(({ type, data }) => type === 'TXT' && data.length > 255)).toBe(true);
  const env = { RASKET_URL: scene.url, RASKET_API_KEY: team.key };
  const { stdout, code } = await runInProcess(words, { env, cwd: scene.dataDir, columns });
  expect(code).toBe(0);
  expect(readZoneFile(stdout)).toEqual(wanted());
  // Each string of a long text is on a line of its own.
  for (const line of stdout.split('\n')) expect(line.match(/"[^"]*"/g) ?? []).toHaveLength(line.includes('"') ? 1 : 0);
  expect(stdout).toMatch(/TXT\s\(\n/);
});
