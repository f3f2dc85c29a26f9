import type { EventType } from './event.ts';

/**
 * The states of an email, in the order of the contract, which ranks them: an email to several recipients shows the
 * highest state that any of them reached, and a failure outranks a success because somebody has to act on it.
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

/** Returns the states that `state` may replace. */
export const statesBefore = (state: LastEvent): readonly LastEvent[] =>
  LAST_EVENTS.slice(0, LAST_EVENTS.indexOf(state));

/** Returns the state after all these events, in whatever order they arrived. */
export function foldLastEvent(types: readonly EventType[]): LastEvent {
  let furthest = 0;
  for (const type of types)
    furthest = Math.max(
      furthest,
      LAST_EVENTS.findIndex((state) => `email.${state}` === type),
    );
  return LAST_EVENTS[furthest] ?? 'queued';
}
