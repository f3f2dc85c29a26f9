import type { Executor } from '../../platform/db/index.ts';
import type { Ids } from '../../platform/ids.ts';
import { countedAs, COUNTERS } from './counters.ts';
import type { NewEvent } from './event.ts';
import { computeAdditions, buildCountRows, type Addition, type OpenQuestion } from './metric-counts.ts';

const KEY = ['team_id', 'scope', 'span_minutes', 'slot', 'shard'] as const;
/** Counts events that are about to be inserted, and are not yet. */
export async function countEvents(tx: Executor, ids: Ids, events: readonly NewEvent[]): Promise<void> {
  const { certain, questions } = computeAdditions(events);
  const additions = [...certain, ...(await firstOfTheirKind(tx, questions))];
  if (additions.length === 0) return;
  const shard = tx.dialect === 'pg' ? chooseShard(ids) : 0;
  // Most groups add to one counter: naming all of them would double the cost of a row.
  const added = new Set(additions.map((addition) => addition.counter));
  const counters = COUNTERS.filter((counter) => added.has(counter));
  const rows = buildCountRows(additions).map(({ teamId, scope, spanMinutes, slot, counts }) => [
    teamId,
    scope,
    spanMinutes,
    slot,
    shard,
    ...counters.map((counter) => counts[counter]),
  ]);
  const sums = counters.map((counter) => `${counter} = metric_counts.${counter} + excluded.${counter}`);
  const add = `on conflict (${KEY.join(', ')}) do update set ${sums.join(', ')}`;
  await tx.insertMany('metric_counts', [...KEY, ...counters], rows, add);
}

const shards = new WeakMap<Ids, number>();

/** Returns a random number of this process: two nodes that share one only wait for each other. */
export function chooseShard(ids: Ids): number {
  let shard = shards.get(ids);
  if (shard === undefined) shards.set(ids, (shard = Number.parseInt(ids.hex(2), 16) & 0x7fff));
  return shard;
}

/** An arbitrary number that no other program uses, as the first half of the names of our advisory locks. */
const LOCKS = 7_236_502;

async function firstOfTheirKind(tx: Executor, questions: readonly OpenQuestion[]): Promise<Addition[]> {
  if (questions.length === 0) return [];
  const asked = questions.flatMap(({ event, counter, name }) => {
    const { of, bounce } = countedAs(counter);
    return of.map((type) => ({ name, subject: event.subjectId, type, bounce: bounce ?? null }));
  });
  const values = [JSON.stringify(asked)];
  if (tx.dialect === 'pg') {
    // Two nodes that check at the same moment would both find nothing. The order prevents a deadlock.
    const subjects = JSON.stringify(questions.map(({ event }) => event.subjectId));
    const sql = `select pg_advisory_xact_lock(?, lock) from (select distinct hashtext(subject) as lock
      from jsonb_array_elements_text(?::jsonb) as subject order by 1) as locks`;
    await tx.all(sql, [LOCKS, subjects]);
  }
  const rows = await tx.all<{ name: string }>(tx.dialect === 'pg' ? KNOWN_ON_PG : KNOWN_ON_SQLITE, values);
  const known = new Set(rows.map((row) => row.name));
  return questions.filter(({ name }) => !known.has(name));
}

const KNOWN_ON_PG = `select w.name from jsonb_to_recordset(?::jsonb) as w(name text, subject text, type text, bounce text)
  where exists (select 1 from events where subject_id = w.subject and events.type = w.type
    and data::jsonb ->> 'machine' is null and (w.bounce is null or data::jsonb #>> '{bounce,type}' = w.bounce))`;

const KNOWN_ON_SQLITE = `select json_extract(w.value, '$.name') as name from json_each(?) as w
  where exists (select 1 from events where subject_id = json_extract(w.value, '$.subject')
    and events.type = json_extract(w.value, '$.type') and json_extract(data, '$.machine') is null
    and (json_extract(w.value, '$.bounce') is null
      or json_extract(data, '$.bounce.type') = json_extract(w.value, '$.bounce')))`;
