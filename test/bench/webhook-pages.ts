import Sqlite from 'better-sqlite3';
import path from 'node:path';
import { initialise, startAppliance, type Appliance } from './appliance.ts';
import type { Bench } from './bench.ts';
import { median } from './figures.ts';

const SMALL = 10_000;
const LARGE = 1_000_000;
const CALLS = 60;
const ROWS = 20;
const WARM_UP = 4;
const TYPES = ['email.sent', 'email.delivered', 'email.opened', 'email.bounced', 'suppression.added'];
const BEGINS_AT = Date.UTC(2026, 0, 1);
const STEP_MS = 1000;

interface Side {
  appliance: Appliance;
  events: number;
}

const WEBHOOK = 'wh_019b7c5e7c0070008000000000000001';

/** The requests, with `events` of them stored. */
const FILTERS: readonly { name: string; ask: (events: number) => Record<string, string> }[] = [
  { name: 'no filter', ask: () => ({}) },
  { name: 'from the middle on', ask: (events) => ({ after: buildPublicId(Math.floor(events / 2)) }) },
  { name: 'status, one in fifty', ask: () => ({ status: 'failed' }) },
  { name: 'status, most', ask: () => ({ status: 'success' }) },
  { name: 'type, one in five', ask: () => ({ type: 'email.bounced' }) },
  { name: 'status and type', ask: () => ({ status: 'failed', type: 'email.sent' }) },
  {
    name: 'an hour in the middle',
    ask: (events) => ({ start_date: formatTime(events / 2), end_date: formatTime(events / 2 + 3600) }),
  },
];

/** Measures pages of an endpoint's events: a filter without an index shows when there are a hundred times as many. */
export async function benchWebhookPages(bench: Bench): Promise<void> {
  const amount = bench.quick ? LARGE / 5 : LARGE;
  const small = await makeSide(bench, SMALL);
  const large = await makeSide(bench, amount);
  for (const filter of FILTERS) {
    const times = { small: [] as number[], large: [] as number[] };
    for (let call = -WARM_UP; call < CALLS; call++) {
      const ms = { small: await getPage(small, filter.ask(SMALL)), large: await getPage(large, filter.ask(amount)) };
      if (call < 0) continue;
      times.small.push(ms.small);
      times.large.push(ms.large);
    }
    bench.add({
      name: `webhook events page at ${bench.quick ? '200 thousand' : '1 million'}, ${filter.name}`,
      value: median(times.large),
      unit: 'ms',
      baseline: { name: 'ms at 10 thousand', value: median(times.small) },
      target: { is: 'at most', value: 1.5, of: 'ratio' },
    });
  }
}

async function makeSide(bench: Bench, events: number): Promise<Side> {
  const dataDir = bench.folder('webhook-pages');
  const { team_id: teamId, api_key: key } = initialise(dataDir, bench.dns);
  fill(path.join(dataDir, 'rasket.db'), teamId, events);
  const appliance = await startAppliance({ dataDir, dns: bench.dns, sinkPort: 1, key, roles: 'http' });
  bench.stopLater(() => appliance.kill());
  return { appliance, events };
}

/** Writes one event a second; every fiftieth has failed, with mixed types. */
function fill(file: string, teamId: string, events: number): void {
  const database = new Sqlite(file);
  database.pragma('synchronous = off');
  database
    .prepare(
      `insert into webhooks (id, team_id, endpoint, events, status, secret_sealed, created_at)
        values (?, ?, 'https://hooks.example/', '["email.sent"]', 'enabled', '', ?)`,
    )
    .run(WEBHOOK, teamId, BEGINS_AT);
  const insert = database.prepare(
    `insert into webhook_events (webhook_id, event_id, team_id, type, status, attempt_count, last_http_status, created_at)
      values (?, ?, ?, ?, ?, 1, 200, ?)`,
  );
  database.transaction(() => {
    for (let n = 0; n < events; n++) {
      const type = TYPES[(n + Math.floor(n / 50)) % TYPES.length];
      const status = n % 50 === 0 ? 'failed' : 'success';
      insert.run(WEBHOOK, buildId(n), teamId, type, status, BEGINS_AT + n * STEP_MS);
    }
  })();
  database.close();
}

function buildId(n: number): string {
  const time = (BEGINS_AT + Math.floor(n) * STEP_MS).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${Math.floor(n).toString(16).padStart(12, '0')}`;
}

const buildPublicId = (n: number): string => `msg_${buildId(n).replaceAll('-', '')}`;
const formatTime = (n: number): string => new Date(BEGINS_AT + Math.floor(n) * STEP_MS).toISOString();

async function getPage({ appliance }: Side, asked: Record<string, string>): Promise<number> {
  const begin = performance.now();
  const query = new URLSearchParams({ limit: String(ROWS), ...asked });
  const page = (await appliance.call('GET', `/webhooks/${WEBHOOK}/events?${query}`)) as { data: unknown[] };
  const ms = performance.now() - begin;
  if (page.data.length !== ROWS) throw new Error(`a page of ${JSON.stringify(asked)} has ${page.data.length} rows`);
  return ms;
}
