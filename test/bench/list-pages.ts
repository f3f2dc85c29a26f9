import Sqlite from 'better-sqlite3';
import { statSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import type { Ctx } from '../../src/tenancy/access/index.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { openDb } from '../../src/platform/db/index.ts';
import type { World } from '../../src/platform/world.ts';
import { indexEmails, listEmails } from '../../src/mail/emails/index.ts';
import { initialise, startAppliance, type Appliance } from './appliance.ts';
import type { Bench } from './bench.ts';
import { median } from './figures.ts';
import { FILTERS, type Asked, type Filled, type Filter, type Side } from './list-filters.ts';

const SMALL = 10_000;
const LARGE = 1_000_000;

export interface FullSide extends Side {
  appliance: Appliance;
  file: string;
}

/** Measures a page with a hundred times the emails: only here does a filter without an index show. */
export async function benchListPages(bench: Bench): Promise<void> {
  const begin = performance.now();
  const small = await makeSide(bench, SMALL);
  const large = await makeSide(bench, bench.quick ? LARGE / 5 : LARGE);
  const sizes = [small, large].map(({ file }) => `${Math.round(statSync(file).size / 2 ** 20)} MiB`);
  bench.say(`filled ${sizes.join(' and ')} in ${Math.round((performance.now() - begin) / 1000)} s`);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
  try {
    const measured = await measureFilters(bench, { small, large }, agent);
    for (const [i, filter] of FILTERS.entries()) await report(bench, filter, measured[i] ?? unreachable(), large);
  } finally {
    agent.destroy();
  }
}

export async function makeSide(bench: Bench, emails: number): Promise<FullSide> {
  const dataDir = bench.folder('list');
  const { team_id: teamId, api_key: key } = initialise(dataDir, bench.dns);
  const file = path.join(dataDir, 'rasket.db');
  const filler = await bench.helper('./fill-process.ts');
  const apiKeyId = keyIdIn(file);
  const filled = await filler.ask<Filled>({ file, emails, teamId, apiKeyId });
  await filler.stop();
  await indexAll(file);
  const appliance = await startAppliance({ dataDir, dns: bench.dns, sinkPort: 1, key, roles: 'http' });
  bench.stopLater(() => appliance.kill());
  return { appliance, file, teamId, apiKeyId, filled };
}

/** This is what a server does after acceptance, minute by minute. */
async function indexAll(file: string): Promise<void> {
  const db = await openDb({ driver: 'better-sqlite3', file, url: '', poolMax: 1 });
  const world = { db, clock: systemClock } as World;
  while ((await indexEmails(world)) > 0);
  await db.close();
}

function keyIdIn(file: string): string {
  const database = new Sqlite(file, { readonly: true });
  const { id } = database.prepare('select id from api_keys').get() as { id: string };
  database.close();
  return id;
}

type Which = 'small' | 'large';

interface Timed {
  times: Record<Which, number[]>;
  rows: Record<Which, number>;
}

/** Both databases take turns, and every filter has its turns early and late, so that no moment affects one alone. */
async function measureFilters(bench: Bench, sides: Record<Which, FullSide>, agent: http.Agent): Promise<Timed[]> {
  const measured = FILTERS.map((): Timed => ({ times: { small: [], large: [] }, rows: { small: 0, large: 0 } }));
  const rounds = bench.quick ? 1 : ROUNDS;
  for (let round = 0; round < rounds; round++) {
    for (const [i, filter] of FILTERS.entries()) {
      const { times, rows } = measured[i] ?? unreachable();
      for (let call = -WARM_UP; call < filter.callsPerRound; call++) {
        const turn = round * filter.callsPerRound + Math.abs(call);
        for (const which of ['small', 'large'] as const) {
          const { ms, count } = await getPage(agent, sides[which], filter.ask(sides[which], turn));
          rows[which] = count;
          if (call >= 0) times[which].push(ms);
        }
      }
    }
  }
  return measured;
}

const ROUNDS = 4;
const WARM_UP = 2;

const unreachable = (): never => {
  throw new Error('every filter is measured');
};

async function report(bench: Bench, filter: Filter, { times, rows }: Timed, large: FullSide): Promise<void> {
  const value = median(times.large);
  const baseline = { name: 'ms at 10 thousand', value: median(times.small) };
  const target = { is: 'at most', value: filter.ratioMax ?? 1.5, of: 'ratio' } as const;
  const isShort = value / baseline.value > target.value;
  const unequal = rows.small === rows.large ? [] : [`rows of the page: ${rows.small} and ${rows.large}`];
  const plan = filter.hasTarget && isShort ? await explainQuery(large, filter.ask(large, 0)) : [];
  const note = [...unequal, ...plan].join('\n');
  const name = `list page at ${bench.quick ? '200 thousand' : '1 million'}, ${filter.name}`;
  bench.add({
    name,
    value,
    unit: 'ms',
    baseline,
    ...(filter.hasTarget ? { target } : {}),
    ...(note === '' ? {} : { note }),
  });
}

function getPage(agent: http.Agent, { appliance }: FullSide, asked: Asked): Promise<{ ms: number; count: number }> {
  const headers = { authorization: `Bearer ${appliance.key}`, 'user-agent': 'rasket-bench' };
  const query = new URLSearchParams(
    Object.entries(asked).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return new Promise((resolve, reject) => {
    const begin = performance.now();
    const request = http.get(`${appliance.url}/emails?${query.toString()}`, { agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const ms = performance.now() - begin;
        const text = Buffer.concat(chunks).toString('utf8');
        if (response.statusCode !== 200) return reject(new Error(`GET /emails?${query.toString()} answered ${text}`));
        resolve({ ms, count: (JSON.parse(text) as { data: unknown[] }).data.length });
      });
    });
    request.on('error', reject);
  });
}

/** Returns SQLite's plan for the product's own statement, captured on its way to the database. */
async function explainQuery({ file, teamId }: FullSide, asked: Asked): Promise<string[]> {
  const caught: { sql: string; values: unknown[] }[] = [];
  const db = {
    dialect: 'sqlite',
    all: async (sql: string, values: unknown[]) => {
      caught.push({ sql, values });
      return [];
    },
  };
  const ctx = { store: { db }, teamId, actor: { kind: 'job', name: 'test' }, requestId: 'bench' } as unknown as Ctx;
  const { limit = 20, after, before, ...filter } = asked;
  await listEmails(ctx, filter as Parameters<typeof listEmails>[1], { limit, after, before });
  const database = new Sqlite(file, { readonly: true });
  const lines = caught.flatMap(({ sql, values }) => {
    const steps = database.prepare(`explain query plan ${sql}`).all(values) as { detail: string }[];
    return [sql.replaceAll(/\s+/g, ' '), ...steps.map(({ detail }) => `  ${detail}`)];
  });
  database.close();
  return lines;
}
