// An invoice as a spreadsheet or a printer takes it.
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { plantInvoice } from '../rig/invoices.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { runInProcess } from './in-process.ts';

let scene: Scene;
let team: Team;
let home: string;
let id: string;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team('Example');
  id = await plantInvoice(scene, team);
});
beforeEach(() => {
  home = scratchFolder('rasket-billing-');
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));
afterAll(() => scene.close());

const rasket = (...words: string[]) =>
  runInProcess(['billing', 'invoice', ...words], {
    cwd: home,
    env: { HOME: home, PATH: process.env['PATH'], RASKET_URL: scene.url, RASKET_API_KEY: team.key },
  });
const served = async (form: string): Promise<string> =>
  (await scene.api('GET', `/billing/invoices/${id}/${form}`, { key: team.key })).text;

it('--csv and --print write the response of the server to standard output or a file', async () => {
  for (const form of ['csv', 'print']) {
    const answer = await served(form);
    expect(answer).toContain('Pro, 31 of 31 days');
    const written = await rasket(id, `--${form}`);
    expect([written.code, written.stdout]).toEqual([0, answer]);
    const file = path.join(home, `invoice.${form}`);
    expect(await rasket(id.toUpperCase(), `--${form}`, '--output', file)).toMatchObject({
      code: 0,
      stdout: `${file}\n`,
    });
    expect(fs.readFileSync(file, 'utf8')).toBe(answer);
    // An existing file is kept, unless --force is given.
    fs.writeFileSync(file, 'mine');
    expect((await rasket(id, `--${form}`, '--output', file)).code).not.toBe(0);
    expect(fs.readFileSync(file, 'utf8')).toBe('mine');
    expect((await rasket(id, `--${form}`, '--output', file, '--force')).code).toBe(0);
    expect(fs.readFileSync(file, 'utf8')).toBe(answer);
  }
});

it('rasket billing takes one format at a time, for an existing statement', async () => {
  expect(await rasket(id, '--csv', '--print')).toMatchObject({ code: 64, stdout: '' });
  expect(await rasket(id, '--output', 'x')).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('--csv or --print'),
  });
  const none = await rasket('019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e91', '--csv');
  expect([none.code === 0, none.stdout]).toEqual([false, '']);
  expect((await rasket(id)).stdout).toContain('PLANTED-');
});
