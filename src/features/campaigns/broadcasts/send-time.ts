import { invalidFields, type FieldFault } from '../../../platform/refusal.ts';
import { parseIsoTime, parseTimePhrase } from '../../../protocol/iso-time.ts';
import { readScheduledAt } from '../../../mail/emails/index.ts';
import { nextTurn } from '../../../platform/clock.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { foldText } from '../../../protocol/contact-filter/index.ts';
import { findTimeZone, type TimeZone } from '../../../protocol/time-zone.ts';
import { declaredProperties, type PropertyRow, textsBehind } from '../../audience/index.ts';
import { propertyNamed } from './merge-values.ts';
import { BoundedMap } from '../../../platform/limits/index.ts';

const HOUR_MS = 3_600_000;
/** No clocks are further ahead of UTC. */
const AHEAD_MAX_MS = 14 * HOUR_MS;
const PAGE = 500;
/** There are some six hundred names of zones. Texts beyond so many are no zones, and those of their contacts either. */
const TEXTS_MAX = 5000;

/** Before it no clock anywhere shows the time. */
export const earliestAt = (local: number): number => local - AHEAD_MAX_MS;

/** Where the contacts of a team live, as far as they say so. */
export interface ContactZones {
  /** Undefined where the team declares no such text. */
  property: PropertyRow | undefined;
  /** By the text of the contacts, as filters compare it. */
  zones: ReadonlyMap<string, TimeZone>;
  /** Some contacts have a text that names no zone. */
  hasUnknown: boolean;
  /** For those who name none. */
  fallback: TimeZone | undefined;
}

/** The time zones that the contacts of a team name in their property `timezone`. */
export async function contactZones(db: Executor, teamId: string): Promise<ContactZones> {
  const property = propertyNamed(await declaredProperties(db, teamId), 'timezone');
  const zones = new Map<string, TimeZone>();
  if (property?.type !== 'string') return { property: undefined, zones, hasUnknown: false, fallback: undefined };
  let read = 0;
  for (let after = ''; read < TEXTS_MAX;) {
    const texts = await textsBehind(db, property.id, { after, limit: PAGE });
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

/** To make a zone costs a hundred times what a look at its clocks does. */
const known = new BoundedMap<string, TimeZone | undefined>(TEXTS_MAX);

function zoneNamed(text: string): TimeZone | undefined {
  if (known.has(text)) return known.get(text);
  const zone = findTimeZone(text);
  known.set(text, zone);
  return zone;
}

export interface When {
  at: number;
  /** What the clock shows that it was written by, as if it were UTC. A phrase is read by the clock of UTC. */
  local: number;
}

/** When to send: null for now. A time or a phrase, from 1 minute to 30 days ahead. */
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
