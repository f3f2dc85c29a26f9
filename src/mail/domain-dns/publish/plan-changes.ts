import { judgeOthers, judgeRivals } from './in-the-way.ts';
import { isSamePlain, sameNames, type PlainRecord } from '../../../protocol/dns/index.ts';
import type { RecordQuery, NewRecord, ZoneRecord } from './provider.ts';

export interface PlanInput {
  wanted: readonly PlainRecord[];
  /** What we published before and have not removed. */
  ours: readonly PlainRecord[];
  /** Everything the queries found in the zone. */
  seen: readonly ZoneRecord[];
  ttlSeconds: number;
}

export interface Change extends PlainRecord {
  action: 'create' | 'replace' | 'delete';
  ttl: number;
}

export interface Plan {
  changes: Change[];
  deletes: ZoneRecord[];
  creates: NewRecord[];
  /** One sentence for each record of somebody else that is in the way; nothing may be changed while there is any. */
  inTheWay: string[];
  /** Ours by memory, but neither wanted nor there any more. */
  forgotten: PlainRecord[];
}

/** What has to be looked at: each name with the types that stand there, should stand there, or would be in the way. */
export function queriesFor(wanted: readonly PlainRecord[], ours: readonly PlainRecord[]): RecordQuery[] {
  const all = [...wanted, ...ours];
  const names = all.filter((record, i) => all.findIndex((other) => sameNames(other.name, record.name)) === i);
  return names.map(({ name }) => {
    const here = all.filter((record) => sameNames(record.name, name)).map((record) => record.type);
    const types = here.includes('CNAME') ? ['A', 'AAAA', 'TXT', 'MX', 'NS', 'CAA', ...here] : here;
    return { name, types: [...new Set(['CNAME', ...types])] };
  });
}

/** What makes the zone hold what is wanted and nothing that was ours besides. Records of others are never in it. */
export function planChanges({ wanted, ours, seen, ttlSeconds }: PlanInput): Plan {
  const isOurs = (record: PlainRecord): boolean => ours.some((one) => isSamePlain(one, record));
  const isWanted = (record: PlainRecord): boolean => wanted.some((one) => isSamePlain(one, record));
  const isThere = (record: PlainRecord): boolean => seen.some((one) => isSamePlain(one, record));
  const deletes = seen.filter((record) => isOurs(record) && !isWanted(record));
  const others = seen.filter((record) => !isOurs(record));
  const creates: NewRecord[] = [];
  const inTheWay: string[] = [];
  for (const record of wanted) {
    const fit = isThere(record)
      ? judgeRivals(
          record,
          others.filter((other) => !isSamePlain(other, record)),
        )
      : judgeOthers(record, others);
    if (fit.kind === 'in_the_way') inTheWay.push(fit.say);
    else if (fit.kind === 'free' && !isThere(record))
      creates.push({ ...record, ttl: ttlBeside(record, others) ?? ttlSeconds });
  }
  return {
    changes: changesOf(deletes, creates),
    deletes,
    creates,
    inTheWay: [...new Set(inTheWay)],
    forgotten: ours.filter((record) => !isWanted(record) && !isThere(record)),
  };
}

/** RFC 2181 §5.2: records of one name and type share their ttl, and ours must not change that of others. */
const ttlBeside = (record: PlainRecord, others: readonly ZoneRecord[]): number | undefined =>
  others.find((other) => sameNames(other.name, record.name) && other.type === record.type)?.ttl;

/** One that goes and one that comes at the same name and type are one replacement. */
function changesOf(deletes: readonly ZoneRecord[], creates: readonly NewRecord[]): Change[] {
  const left = [...deletes];
  const made = creates.map((record): Change => {
    const at = left.findIndex((gone) => gone.type === record.type && sameNames(gone.name, record.name));
    if (at >= 0) left.splice(at, 1);
    return { ...record, action: at >= 0 ? 'replace' : 'create' };
  });
  const gone = left.map(({ name, type, value, priority, ttl }): Change => ({
    action: 'delete',
    name,
    type,
    value,
    priority,
    ttl,
  }));
  return [...made, ...gone];
}
