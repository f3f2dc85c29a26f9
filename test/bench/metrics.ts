import Sqlite from 'better-sqlite3';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import path from 'node:path';
import { domainScope, TEAM_SCOPE } from '../../src/mail/events/index.ts';
import { initialise, startAppliance, type Appliance } from './appliance.ts';
import type { Bench } from './bench.ts';
import { median } from './figures.ts';

const DAY_MS = 86_400_000;
const DOMAINS = 20;
/** Queued, sent and delivered: the events of an email when all goes well. */
const EVENTS_PER_EMAIL = 3;

interface Side {
  appliance: Appliance;
  rows: number;
}

const MONTH: Record<string, Record<string, string>> = {
  'totals': {},
  'by day': { dimensions: 'period' },
  'by day in Kolkata': { dimensions: 'period', timezone: 'Asia/Kolkata' },
  'by hour': { dimensions: 'period', granularity: 'hourly' },
  'by domain': { dimensions: 'domain' },
  'by day and domain': { dimensions: 'period,domain' },
  'by day and domain in Kolkata': { dimensions: 'period,domain', timezone: 'Asia/Kolkata' },
}; // oxfmt-ignore

const YEAR: Record<string, Record<string, string>> = {
  'totals': {},
  'by month and domain': { dimensions: 'period,domain', granularity: 'monthly' },
  'by day': { dimensions: 'period' },
  'by day in Kolkata': { dimensions: 'period', timezone: 'Asia/Kolkata' },
}; // oxfmt-ignore

/** Measures the cost of metrics with ten times the events, and over a year: sums made as events are written cost the same. */
export async function benchMetrics(bench: Bench): Promise<void> {
  const sides = {
    small: await makeSide(bench, { days: 30, emails: 1_000_000 / EVENTS_PER_EMAIL }),
    large: await makeSide(bench, { days: 30, emails: 10_000_000 / EVENTS_PER_EMAIL }),
    year: await makeSide(bench, { days: 365, emails: 365_000_000 }),
  };
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const calls = bench.quick ? 20 : 60;
  try {
    const medians: number[] = [];
    for (const [name, query] of Object.entries(MONTH)) {
      const times: Record<'small' | 'large', number[]> = { small: [], large: [] };
      for (let call = -3; call < calls; call++) {
        // Neither is always first, so that disturbances affect both equally.
        for (const which of call % 2 === 0 ? (['small', 'large'] as const) : (['large', 'small'] as const)) {
          const ms = await measureTime(agent, sides[which], 30, query);
          if (call >= 0) times[which].push(ms);
        }
      }
      medians.push(median(times.large));
      bench.add({
        name: `metrics of 30 days of 10 million events, ${name}`,
        value: median(times.large),
        unit: 'ms',
        baseline: { name: 'ms at 1 million', value: median(times.small) },
        target: { is: 'at most', value: 1.5, of: 'ratio' },
        rounds: { value: times.large, baseline: times.small },
      });
    }
    bench.add({
      name: 'the slowest of these',
      value: Math.max(...medians),
      unit: 'ms',
      target: { is: 'at most', value: 200, of: 'value' },
      note: `${sides.large.rows.toLocaleString('en-US')} rows of sums, those the recorder writes; the events beside them are left out, for none of these calls reads them`,
    });
    for (const [name, query] of Object.entries(YEAR)) {
      const times: number[] = [];
      for (let call = 0; call < calls; call++) times.push(await measureTime(agent, sides.year, 365, query));
      bench.add({ name: `metrics of a year, 1 million emails a day, ${name}`, value: median(times), unit: 'ms' });
    }
  } finally {
    agent.destroy();
  }
}

async function makeSide(bench: Bench, load: { days: number; emails: number }): Promise<Side> {
  const dataDir = bench.folder('metrics');
  const { team_id: teamId, api_key: key } = initialise(dataDir, bench.dns);
  const rows = fill(path.join(dataDir, 'rasket.db'), teamId, load);
  const appliance = await startAppliance({ dataDir, dns: bench.dns, sinkPort: 1, key, roles: 'http' });
  bench.stopLater(() => appliance.kill());
  return { appliance, rows };
}

/** Writes the rows that the recorder leaves when mail of twenty domains flows evenly, day and night. */
function fill(file: string, teamId: string, { days, emails }: { days: number; emails: number }): number {
  const database = new Sqlite(file);
  database.pragma('synchronous = OFF');
  const insert = database.prepare(
    `insert into metric_counts (team_id, scope, span_minutes, slot, shard, received, sent, delivered)
     values (?, ?, ?, ?, 0, ?, ?, ?)`,
  );
  const now = Date.now();
  const scopes = [TEAM_SCOPE, ...Array.from({ length: DOMAINS }, () => domainScope(randomUUID()))];
  let rows = 0;
  const write = database.transaction((span: number) => {
    const slotMs = span * 60_000;
    for (let slot = Math.floor((now - days * DAY_MS) / slotMs); slot <= Math.floor(now / slotMs); slot++) {
      for (const scope of scopes) {
        const share = scope === TEAM_SCOPE ? 1 : 1 / DOMAINS;
        const n = Math.round((emails / days / (DAY_MS / slotMs)) * share);
        insert.run(teamId, scope, span, slot, n, n, n);
        rows++;
      }
    }
  });
  for (const span of [15, 1440]) write(span);
  database.close();
  return rows;
}

function measureTime(
  agent: http.Agent,
  { appliance }: Side,
  days: number,
  query: Record<string, string>,
): Promise<number> {
  const headers = { authorization: `Bearer ${appliance.key}`, 'user-agent': 'rasket-bench' };
  const start = new Date(Date.now() - days * DAY_MS).toISOString();
  const target = `/emails/metrics?${new URLSearchParams({ start_date: start, ...query }).toString()}`;
  return new Promise((resolve, reject) => {
    const begin = performance.now();
    const request = http.get(appliance.url + target, { agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const ms = performance.now() - begin;
        const text = Buffer.concat(chunks).toString('utf8');
        const { totals } = JSON.parse(text) as { totals?: { delivered: number } };
        if (response.statusCode === 200 && totals && totals.delivered > 0) resolve(ms);
        else reject(new Error(`GET ${target} answered ${text.slice(0, 300)}`));
      });
    });
    request.on('error', reject);
  });
}
