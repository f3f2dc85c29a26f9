// a file of contacts --> rasket serve (killed again and again while it reads it)
import { expect, it, onTestFinished } from 'vitest';
import { createApi, type Api } from '../rig/api.ts';
import { formOf } from '../rig/forms.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram, type Program } from './program.ts';

/** The whole of it: `RASKET_TEST_IMPORT_ROWS=200000`. */
const ROWS = Number(process.env.RASKET_TEST_IMPORT_ROWS ?? 6000);
const KILLS = ROWS >= 100_000 ? 10 : 3;

/** Every tenth row is there twice, and every twenty-fifth cannot be read. */
function fileOf(rows: number): string {
  const lines = Array.from({ length: rows }, (_, i) => {
    if (i % 25 === 7) return `nobody ${i},N,x`;
    const n = i % 10 === 9 ? i - 5 : i;
    return `n${n}@example.org,Name ${i},plan-${i % 7}`;
  });
  return `email,first_name,plan\n${lines.join('\n')}\n`;
}

const apis = new Map<string, Api>();

async function statusOf(program: Program, id: string) {
  const url = await program.listening();
  const api = apis.get(url) ?? createApi(url);
  apis.set(url, api);
  return (await api('GET', `/contacts/imports/${id}`, { key: program.apiKey })).body as {
    status: string;
    counts: { total: number };
  };
}

it(
  `kill -9 ${KILLS} times while ${ROWS} rows are imported counts none of them twice`,
  { timeout: 300_000 + ROWS * 5 },
  async () => {
    const sink = await startSink({ keep: false });
    onTestFinished(() => sink.close());
    const env = {
      ...{ RASKET_IMPORTS_LEASE_SECONDS: '2', RASKET_IMPORTS_POLL_MS: '100' },
      RASKET_PLANS_STANDARD_CONTACT_LIMIT: '1000000',
    };
    const program = await installProgram(sink, () => undefined, { env });
    let api = createApi(await program.listening());
    await api('POST', '/contact-properties', { key: program.apiKey, body: { key: 'plan', type: 'string' } });
    const form = formOf(fileOf(ROWS), { on_conflict: 'upsert' });
    const { id } = (await api('POST', '/contacts/imports', { key: program.apiKey, ...form })).body;
    let killed = 0;
    for (let kill = 1; kill <= KILLS; kill++) {
      // As far as it comes, from wherever the last death left it.
      await expect
        .poll(async () => (await statusOf(program, id)).counts.total, { timeout: 60_000, interval: 20 })
        .toBeGreaterThanOrEqual(Math.floor((ROWS * kill) / (KILLS + 2)));
      if ((await statusOf(program, id)).status === 'in_progress') killed++;
      await program.kill();
      await program.start();
    }
    await expect
      .poll(async () => (await statusOf(program, id)).status, { timeout: 60_000 + ROWS * 5, interval: 100 })
      .toBe('completed');
    api = createApi(await program.listening());
    const failed = Math.floor((ROWS - 8) / 25) + 1;
    const good = new Set(
      fileOf(ROWS)
        .split('\n')
        .slice(1, -1)
        .map((line) => line.split(',')[0] ?? '')
        .filter((text) => text.includes('@')),
    );
    expect((await statusOf(program, id)).counts).toEqual({
      total: ROWS,
      created: good.size,
      updated: ROWS - failed - good.size,
      skipped: 0,
      failed,
    });
    expect((await api('GET', '/usage', { key: program.apiKey })).body.contacts.used).toBe(good.size);
    const filter = { field: 'email', op: 'contains', value: '@' };
    const preview = await api('POST', '/segments/preview', { key: program.apiKey, body: { filter } });
    expect(preview.body.contacts).toBe(good.size);
    // It was under way when it died, at least once.
    expect(killed).toBeGreaterThan(0);
    await program.stop();
  },
);
