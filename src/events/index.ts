/**
 * The append-only record of what happened. An event is written in the transaction that changed the state, so neither
 * can stand without the other. Events are never changed; what reads them (webhooks, metrics) comes later.
 */
export { recordEvents, eventsOf, withoutEvent } from './events.store.ts';
export type { NewEvent, RecordedEvent } from './events.store.ts';
export { LAST_EVENTS, statesBefore, foldLastEvent } from './last-event.ts';
export type { LastEvent } from './last-event.ts';
export { EVENT_TYPES } from './vocabulary.ts';
export type { EventType } from './vocabulary.ts';
