import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportTeam, SECRET_COLUMNS, TEAM_PATHS, type TeamManifest } from '../../src/features/customers/index.ts';
import { SEALED_COLUMNS } from '../../src/sealed-columns.ts';
import { findTracesInFiles, plantInEveryTable } from '../rig/every-table.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { scratchFolder } from '../rig/scratch.ts';

let scene: Scene;
beforeAll(async () => void (scene = await startScene()));
afterAll(() => scene.close());

const readLines = (folder: string, table: string): Record<string, unknown>[] =>
  readFileSync(path.join(folder, `rows/${table}.ndjson`), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

async function createCustomer(word: string) {
  const team = await scene.team(`${word} Ltd`);
  const domain = await team.domain(`${word}.example.com`);
  const { db } = scene.app.world;
  const email = `ada@${word}.example`;
  return { team, word, domain, planted: await plantInEveryTable(db, { teamId: team.id, word, email, domain }) };
}

describe('the export of a team', () => {
  let folder: string;
  let manifest: TeamManifest;
  let customer: Awaited<ReturnType<typeof createCustomer>>;
  let other: Awaited<ReturnType<typeof createCustomer>>;
  let emailId: string;
  beforeAll(async () => {
    customer = await createCustomer('xochipilli');
    other = await createCustomer('bystanders');
    const { key } = customer.team;
    const attachments = [{ filename: 'small.txt', content: Buffer.from('a small file').toString('base64') }];
    const body = { from: `a@${customer.domain.name}`, to: 'x@one.example', subject: 'Hi', text: 'y'.repeat(400_000) };
    emailId = (await scene.api('POST', '/emails', { key, body: { ...body, attachments } })).body.id as string;
    await scene.settled();
    folder = path.join(scratchFolder('rasket-export-'), 'xochipilli');
    manifest = await exportTeam(scene.app.world, 'xochipilli-ltd', folder, '0.0.0-test');
  });

  it('has a row of every table but those that the manifest says are left out', () => {
    const left = new Set(Object.keys(manifest.left_out));
    const tables = new Set(TEAM_PATHS.map(({ table }) => table));
    const expected = customer.planted.tables.filter((name) => tables.has(name) && !left.has(name));
    const files = new Set(['contents', 'content_files', 'dns_published', 'email_shares']);
    const exported = readdirSync(path.join(folder, 'rows')).map((file) => path.basename(file, '.ndjson'));
    expect(expected.filter((name) => !files.has(name) && !exported.includes(name))).toEqual([]);
    expect(exported).toEqual(expect.arrayContaining(['teams', 'users', 'invoices', 'contents', 'emails']));
    expect(readLines(folder, 'teams')).toMatchObject([{ archive_enabled: 0, archive_indexed: 0, archive_token: null }]);
    expect(readLines(folder, 'emails').find(({ id }) => id === emailId)).toMatchObject({
      subject: 'Hi',
      to_list: ['x@one.example'],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
  });

  it('contains no secret, and nothing of another team', () => {
    const kept = Object.values(SECRET_COLUMNS).flat();
    expect(
      findTracesInFiles(folder, [...kept.map((column) => `${customer.word} ${column}`), customer.team.key]),
    ).toEqual([]);
    expect(findTracesInFiles(folder, other.planted.traces)).toEqual([]);
    const exported = new Set(Object.keys(manifest.rows).map((file) => path.basename(file, '.ndjson')));
    const sealed = SEALED_COLUMNS.flatMap(({ table, column }) => (exported.has(table) ? [{ table, column }] : []));
    expect(sealed.filter(({ table, column }) => !SECRET_COLUMNS[table]?.includes(column))).toEqual([]);
  });

  it('has every content as a file, and counts and checksums that are right', () => {
    const contents = readLines(folder, 'contents').filter(({ owner_id: owner }) => owner === emailId);
    expect(contents.length).toBeGreaterThan(1);
    const texts = contents.map(({ file, sha256 }) => {
      const bytes = readFileSync(path.join(folder, String(file)));
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
      return bytes.toString().slice(0, 12);
    });
    expect(texts.sort()).toEqual(['a small file', 'y'.repeat(12)]);
    for (const [file, { rows, sha256 }] of Object.entries(manifest.rows)) {
      const bytes = readFileSync(path.join(folder, file));
      expect([file, bytes.toString().split('\n').length - 1]).toEqual([file, rows]);
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
    }
    expect(JSON.parse(readFileSync(path.join(folder, 'manifest.json'), 'utf8'))).toEqual(manifest);
  });

  it('is readable only for its owner, has its name only when it is complete, and replaces no files', async () => {
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(path.join(folder, 'manifest.json')).mode & 0o777).toBe(0o600);
    expect(readdirSync(path.dirname(folder))).toEqual(['xochipilli']);
    const again = () => exportTeam(scene.app.world, customer.team.id, folder, '0');
    await expect(again()).rejects.toThrow('is not an empty folder');
    const vacant = path.join(path.dirname(folder), 'vacant');
    mkdirSync(vacant, { mode: 0o755 });
    await exportTeam(scene.app.world, customer.team.id, vacant, '0');
    expect(statSync(vacant).mode & 0o777).toBe(0o700);
    const file = path.join(path.dirname(folder), 'a-file');
    writeFileSync(file, 'x');
    await expect(exportTeam(scene.app.world, customer.team.id, file, '0')).rejects.toThrow('is not an empty folder');
    expect(existsSync(path.join(folder, 'manifest.json'))).toBe(true);
  });
});
