import type { World } from '../../../platform/world/index.ts';
import type { Filter } from '../../../protocol/contact-filter/index.ts';
import { contactZones, type BroadcastRow, type ContactZones } from '../broadcasts/index.ts';
import type { Pass } from './pass.ts';

/**
 * Where a broadcast stands that goes to each contact at its local hour; undefined for any other. The zones that contacts name are read anew each time and
 * put together by the moment at which their clocks show the hour. There is a pass for each moment, one of them with those who
 * name no zone, and a last one for whom the others have missed, such as one that has moved to a zone whose moment had passed.
 * No contact gets the broadcast twice: its report has one row an address.
 */
export async function readLocalPass({ db }: World, broadcast: BroadcastRow, filter: Filter): Promise<Pass | undefined> {
  const { team_id: teamId, local_at: local, scheduled_at: scheduledAt } = broadcast;
  if (local === null || scheduledAt === null) return undefined;
  const found = await contactZones(db, teamId);
  const moments = momentsOf(found, local);
  const otherwise = found.fallback?.momentOf(local) ?? scheduledAt;
  const inOrder = [...new Set([...moments.keys(), otherwise])].sort((a, b) => a - b);
  const last = inOrder.at(-1) ?? otherwise;
  const at = broadcast.pass_at ?? inOrder[0] ?? otherwise;
  const later = inOrder.find((moment) => moment > at);
  const isForAll = found.zones.size === 0 && at === otherwise;
  return {
    at,
    filter: at > last ? missed(filter, broadcast) : due(filter, found, { moments, at, otherwise }),
    next:
      later !== undefined
        ? { at: later, dueAt: later }
        : at > last || isForAll
          ? undefined
          : { at: last + 1, dueAt: last },
  };
}

/** By the moment: the texts that name a zone whose clocks show it then. */
function momentsOf({ zones }: ContactZones, local: number): Map<number, string[]> {
  const moments = new Map<number, string[]>();
  for (const [text, zone] of zones) {
    const at = zone.momentOf(local);
    moments.set(at, [...(moments.get(at) ?? []), text]);
  }
  return moments;
}

/** With those who name no zone are those whose zone has the same moment. */
function due(
  filter: Filter,
  { property, zones }: ContactZones,
  { moments, at, otherwise }: { moments: ReadonlyMap<number, readonly string[]>; at: number; otherwise: number },
): Filter {
  const here = moments.get(at) ?? [];
  const names = (values: readonly string[]): Filter => {
    if (!property || values.length === 0) return { kind: 'never' };
    const place = { of: 'property', propertyId: property.id, slot: property.slot } as const;
    // One value is a range of the index, read page by page.
    return { kind: 'text', place, op: values.length === 1 ? 'eq' : 'in', values };
  };
  const elsewhere = [...zones.keys()].filter((text) => !here.includes(text));
  const part: Filter = at === otherwise ? { kind: 'none', of: [names(elsewhere)] } : names(here);
  return { kind: 'all', of: [filter, part] };
}

/** But not for who came when it was on its way. */
const missed = (filter: Filter, { started_at: startedAt }: BroadcastRow): Filter => ({
  kind: 'all',
  of: [filter, ...(startedAt === null ? [] : [{ kind: 'created', op: 'lte', ms: Number(startedAt) } as const])],
});
