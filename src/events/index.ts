/**
 * The append-only record of what happened. An event is written in the transaction that changed the state, so neither
 * can stand without the other, counted there, because metrics are sums of those counts, and put there into the outbox of
 * every webhook that subscribes to it. Events are never changed.
 */
export { recordEvents, standingAmong, eventsByIds, eventsOf, withoutEvent } from './events.store.ts';
export type { RecordedEvent } from './events.store.ts';
export type { NewEvent } from './new-event.ts';
export { COUNTERS, countedAs, countersOf, noCounts, type Counter, type Counts } from './counters.ts';
export { broadcastScope, DAY_MINUTES, domainScope, QUARTER_MINUTES, TEAM_SCOPE } from './metric-counts.ts';
export { LAST_EVENTS, statesBefore, foldLastEvent } from './last-event.ts';
export type { LastEvent } from './last-event.ts';
export { EVENT_TYPES } from './vocabulary.ts';
export type { EventType } from './vocabulary.ts';
