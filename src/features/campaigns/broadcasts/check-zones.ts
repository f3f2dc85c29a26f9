import type { Executor } from '../../../platform/db/index.ts';
import type { Filter } from '../../../protocol/contact-filter/index.ts';
import type { ContentCheck } from '../../../protocol/content-checks/index.ts';
import { countMembers, membersPage, valuesOf } from '../../audience/contacts/index.ts';
import { declaredFor, filterOf, findSegment } from '../../audience/segments/index.ts';
import type { BroadcastContent } from './broadcasts.store.ts';
import { contactZones } from './contact-zones.ts';

export type ZoneCheck = Omit<ContentCheck, 'name'> & { name: 'local_time' };

const SHOWN_MAX = 20;

/** Of one that goes at the local hour: how many members name a time zone that there is not. It never fails. */
export async function checkZones(
  db: Executor,
  teamId: string,
  { local_time: localTime, segment_id: segmentId }: Pick<BroadcastContent, 'local_time' | 'segment_id'>,
): Promise<ZoneCheck[]> {
  const segment = segmentId === null ? undefined : await findSegment(db, teamId, segmentId);
  if (localTime === 0 || !segment) return [];
  const { property, zones, hasUnknown, fallback } = await contactZones(db, teamId);
  const otherwise = fallback
    ? `by the fallback of the property, ${fallback.name}`
    : 'at the time of scheduled_at itself';
  const said = (status: ZoneCheck['status'], message: string, details: string[] = []): ZoneCheck[] => [
    { name: 'local_time', status, message, details },
  ];
  if (!property) return said('warn', `Contacts have no property timezone of the type string; all get it ${otherwise}.`);
  const place = { of: 'property', propertyId: property.id, slot: property.slot } as const;
  const filter: Filter = {
    kind: 'all',
    of: [
      await filterOf(db, segment, await declaredFor(db, teamId)),
      { kind: 'exists', place, type: 'string', wanted: true },
      { kind: 'none', of: zones.size > 0 ? [{ kind: 'text', place, op: 'in', values: [...zones.keys()] }] : [] },
    ],
  };
  const wrong = hasUnknown ? await countMembers(db, teamId, filter) : 0;
  const without = `members without a time zone get it ${otherwise}`;
  if (wrong === 0) return said('pass', `Every time zone of a member is known; ${without}.`);
  const members = wrong === 1 ? '1 member has' : `${wrong} members have`;
  const some = await membersPage(db, teamId, filter, { limit: SHOWN_MAX, after: undefined });
  const texts = new Set(some.map((contact) => String(valuesOf(contact)[property.slot])));
  return said('warn', `${members} a timezone that is none of IANA; they and ${without}.`, [...texts]);
}
