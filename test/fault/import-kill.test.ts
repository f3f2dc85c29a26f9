// a file of contacts --> rasket serve (killed again and again while it reads it)
import { expect, it, onTestFinished } from 'vitest';
import { line, start, wait } from '../api/automations/graph.ts';
import { createApi, type Api } from '../rig/api.ts';
import { buildForm } from '../rig/forms.ts';
import { scaled } from '../rig/scale.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram, type Program } from './program.ts';

const ROWS = 1500;
const KILLS = 1 + Math.min(5, scaled(1));

/** Every tenth row is there twice, and every twenty-fifth cannot be read. No two files have an address in common. */
function buildFile(number: number, rows: number): string {
  const lines = Array.from({ length: rows }, (_, i) => {
    if (i % 25 === 7) return `nobody ${i},N,x`;
    const n = i % 10 === 9 ? i - 5 : i;
    return `n${n}@file${number}.example.org,Name ${i},plan-${i % 7}`;
  });
  return `email,first_name,plan\n${lines.join('\n')}\n`;
}

interface File {
  id: string;
  rows: number;
  contacts: number;
}

const apis = new Map<string, Api>();

async function openApi(program: Program): Promise<Api> {
  const url = await program.listening();
  const api = apis.get(url) ?? createApi(url);
  apis.set(url, api);
  return api;
}

async function fetchStatus(program: Program, { id }: File) {
  const api = await openApi(program);
  return (await api('GET', `/contacts/imports/${id}`, { key: program.apiKey })).body as {
    completed_at: string | null;
    counts: { total: number };
  };
}

async function handIn(program: Program, number: number): Promise<File> {
  // A file that was done before anybody could kill the import is followed by one that takes twice as long.
  const rows = ROWS * 2 ** number;
  const text = buildFile(number, rows);
  const api = await openApi(program);
  const form = buildForm(text, { on_conflict: 'upsert', start_automations: 'true' });
  const { id } = (await api('POST', '/contacts/imports', { key: program.apiKey, ...form })).body;
  const addresses = text.split('\n').flatMap((line) => line.split(',', 1).filter((cell) => cell.includes('@')));
  return { id, rows, contacts: new Set(addresses).size };
}

/** Kills it once it has come so far; answers whether the import was under way when it died. */
async function killWithin(program: Program, file: File, row: number): Promise<boolean> {
  await expect
    .poll(async () => (await fetchStatus(program, file)).counts.total, { timeout: 60_000, interval: 5 })
    .toBeGreaterThanOrEqual(row);
  await program.kill();
  const diedAt = Date.now();
  await program.start();
  const { completed_at: at } = await fetchStatus(program, file);
  return at === null || Date.parse(at) > diedAt;
}

it(
  `an import of ${ROWS} rows survives kill -9 ${KILLS} times and counts none of them twice`,
  { timeout: 300_000 + ROWS * 5 },
  async () => {
    const sink = await startSink({ keep: false });
    onTestFinished(() => sink.close());
    const env = {
      RASKET_IMPORTS_LEASE_SECONDS: '2',
      RASKET_IMPORTS_POLL_MS: '100',
      RASKET_PLANS_STANDARD_CONTACT_LIMIT: '10000000',
    };
    const program = await installProgram(sink, () => undefined, { env });
    let api = await openApi(program);
    await api('POST', '/contact-properties', { key: program.apiKey, body: { key: 'plan', type: 'string' } });
    const automate = async (event: string): Promise<string> => {
      const trigger = { ...start, config: { event_name: `rasket:${event}` } };
      const body = { name: event, status: 'enabled', ...line(trigger, wait('day')) };
      return (await api('POST', '/automations', { key: program.apiKey, body })).body.id as string;
    };
    const onCreated = await automate('contact.created');
    const onUpdated = await automate('contact.updated');
    const first = await handIn(program, 0);
    const files = [first];
    for (let killed = 0, killedFile = 0; killed < KILLS;) {
      const file = files.at(-1) ?? first;
      // The next kill comes further on, from wherever the last one left the import.
      const row = Math.min(file.rows, Math.floor((file.rows * (killedFile + 1)) / (KILLS + 2)));
      if (await killWithin(program, file, row)) {
        killed++;
        killedFile++;
      } else {
        files.push(await handIn(program, files.length));
        killedFile = 0;
      }
    }
    for (const file of files) {
      await expect
        .poll(async () => (await fetchStatus(program, file)).completed_at, {
          timeout: 60_000 + ROWS * 5,
          interval: 100,
        })
        .not.toBeNull();
      const failed = Math.floor((file.rows - 8) / 25) + 1;
      const updated = file.rows - failed - file.contacts;
      expect(await fetchStatus(program, file)).toMatchObject({
        status: 'completed',
        counts: { total: file.rows, created: file.contacts, updated, skipped: 0, failed },
      });
    }
    api = await openApi(program);
    const contacts = files.reduce((sum, file) => sum + file.contacts, 0);
    expect((await api('GET', '/usage', { key: program.apiKey })).body.contacts.used).toBe(contacts);
    const filter = { field: 'email', op: 'contains', value: '@' };
    const preview = await api('POST', '/segments/preview', { key: program.apiKey, body: { filter } });
    expect(preview.body.contacts).toBe(contacts);
    const fetchRuns = async (id: string): Promise<number> => {
      let runs = 0;
      for (let after = ''; ;) {
        const page = await api('GET', `/automations/${id}/runs?limit=100${after}`, { key: program.apiKey });
        runs += page.body.data.length;
        if (page.body.has_more !== true) return runs;
        after = `&after=${page.body.data.at(-1).id}`;
      }
    };
    const changed = files.reduce((sum, { rows, contacts: n }) => sum + rows - (Math.floor((rows - 8) / 25) + 1) - n, 0);
    expect([await fetchRuns(onCreated), await fetchRuns(onUpdated)]).toEqual([contacts, changed]);
    await program.stop();
  },
);
