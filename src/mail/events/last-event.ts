import type { EventType } from './event.ts';

/**
 * The states of an email, in the contract's own order, which we read as "how far": an email to several recipients
 * shows the furthest state any of them reached, and a trouble outranks a success because somebody has to look at it.
 */
export const LAST_EVENTS = [
  'queued',
  'scheduled',
  'sent',
  'delivery_delayed',
  'delivered',
  'opened',
  'clicked',
  'bounced',
  'complained',
  'failed',
  'suppressed',
  'canceled',
] as const;

export type LastEvent = (typeof LAST_EVENTS)[number];

/** The states that `state` may replace. */
export const statesBefore = (state: LastEvent): readonly LastEvent[] =>
  LAST_EVENTS.slice(0, LAST_EVENTS.indexOf(state));

/** The state after all these events, whatever the order in which they arrived. */
export function foldLastEvent(types: readonly EventType[]): LastEvent {
  let furthest = 0;
  for (const type of types)
    furthest = Math.max(
      furthest,
      LAST_EVENTS.findIndex((state) => `email.${state}` === type),
    );
  return LAST_EVENTS[furthest] ?? 'queued';
}
