import { invalidFields, type FieldFault } from '../../../platform/refusal.ts';
import { parseIsoTime, parseTimePhrase } from '../../../protocol/iso-time.ts';
import { readScheduledAt } from '../../../mail/emails/index.ts';
import { nextTurn } from '../../../platform/clock.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { foldText } from '../../../protocol/contact-filter/index.ts';
import { findTimeZone, type TimeZone } from '../../../protocol/time-zone.ts';
import { declaredProperties, type PropertyRow, textsAfter } from '../../audience/index.ts';
import { propertyNamed } from './merge-values.ts';
import { BoundedMap } from '../../../platform/limits/index.ts';

const HOUR_MS = 3_600_000;
/** No time zone is further ahead of UTC. */
const AHEAD_MAX_MS = 14 * HOUR_MS;
const PAGE = 500;
/** There are about six hundred time zone names. Texts beyond this limit are not treated as time zones. */
const TEXTS_MAX = 5000;

/** Returns the earliest moment at which a clock anywhere shows the time. */
export const earliestAt = (local: number): number => local - AHEAD_MAX_MS;

/** Time zones of a team's contacts, as far as they are known. */
export interface ContactZones {
  /** The property; undefined if the team declares no such text property. */
  property: PropertyRow | undefined;
  /** Time zones by the text that contacts have, as filters compare it. */
  zones: ReadonlyMap<string, TimeZone>;
  /** True if some contacts have a text that is no time zone. */
  hasUnknown: boolean;
  /** Time zone of contacts that have none. */
  fallback: TimeZone | undefined;
}

/** Returns the time zones that the contacts of a team have in their property `timezone`. */
export async function contactZones(db: Executor, teamId: string): Promise<ContactZones> {
  const property = propertyNamed(await declaredProperties(db, teamId), 'timezone');
  const zones = new Map<string, TimeZone>();
  if (property?.type !== 'string') return { property: undefined, zones, hasUnknown: false, fallback: undefined };
  let read = 0;
  for (let after = ''; read < TEXTS_MAX;) {
    const texts = await textsAfter(db, property.id, { after, limit: PAGE });
    for (const text of texts) {
      const zone = zoneNamed(text);
      if (zone) zones.set(text, zone);
    }
    read += texts.length;
    if (texts.length < PAGE) break;
    after = texts.at(-1) ?? '';
    await nextTurn();
  }
  const written: unknown = JSON.parse(property.fallback_value ?? 'null');
  const fallback = typeof written === 'string' ? zoneNamed(foldText(written)) : undefined;
  return { property, zones, hasUnknown: zones.size < read, fallback };
}

/** Creating a time zone costs a hundred times as much as reading its clock. */
const known = new BoundedMap<string, TimeZone | undefined>(TEXTS_MAX);

export function zoneNamed(text: string): TimeZone | undefined {
  if (known.has(text)) return known.get(text);
  const zone = findTimeZone(text);
  known.set(text, zone);
  return zone;
}

export interface When {
  at: number;
  /** Local time as written, as if it were UTC. Phrases are read in UTC. */
  local: number;
}

/** Reads a time or phrase, from 1 minute to 30 days ahead; null for now. */
export function readWhen(text: string | undefined, now: number): When | null {
  if (text === undefined) return null;
  const said = parseTimePhrase(text, now);
  if (said === undefined && parseIsoTime(text)?.hasOffset !== true) throw unreadable(now);
  const written = said === undefined ? text : new Date(said).toISOString();
  const faults: FieldFault[] = [];
  const at = readScheduledAt(written, now, faults);
  if (faults.length > 0) throw invalidFields(faults);
  return at === null ? null : { at, local: parseIsoTime(written)?.local ?? at };
}

function unreadable(now: number) {
  const example = new Date(now + 3_600_000).toISOString();
  const message = `scheduled_at must be an ISO 8601 time with an offset, such as ${example}, or a phrase such as "in 2 hours" or "tomorrow at 9:30".`;
  return invalidFields([{ path: 'scheduled_at', message }]);
}
