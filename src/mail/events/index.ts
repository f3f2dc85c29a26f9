/**
 * The append-only record of what happened. An event is written in the transaction that changed the state, so neither
 * can stand without the other. It is counted there as well, because metrics are sums of those counts, and told to all that
 * subscribe to it: the outboxes of endpoints and listeners, and automations that start at it. Events are never changed; they go when the plan of their team keeps
 * them no longer.
 */
export {
  eraseEventsOf,
  holdEvents,
  eventPage,
  eventsByIds,
  eventsOf,
  eventsOfSubjects,
  lastEventAt,
  latestIdTime,
  recordEvents,
  standingAmong,
  withoutEvent,
} from './events.store.ts';
export { removeEventsOf, removeOtherEvents } from './remove-events.store.ts';
export type { RecordedEvent } from './events.store.ts';
export { offerSample } from './outbox.store.ts';
export { enrol, ENROLLING_TYPES, type EnrollingType, type Enrolment, type Reentry } from './enrol.store.ts';
export { withoutWebhooks } from './without-webhooks.ts';
export { eventIdOf, publicEventId } from './event-id.ts';
export { isByMachine, type NewEvent } from './new-event.ts';
export type {
  ContactData,
  DomainData,
  EventData,
  Happening,
  InboxEmailData,
  InboxEventSource,
  InboxThreadData,
  ReceivedData,
  SuppressionData,
} from './event-data.ts';
export { COUNTERS, countedAs, countersOf, noCounts, type Counter, type Counts } from './counters.ts';
export { shardOf } from './metric-counts.store.ts';
export { DAY_MINUTES, domainScope, QUARTER_MINUTES, TEAM_SCOPE } from './metric-counts.ts';
export { LAST_EVENTS, statesBefore, foldLastEvent } from './last-event.ts';
export type { LastEvent } from './last-event.ts';
export { EVENT_TYPES, UNTOLD } from './vocabulary.ts';
export type { EventType } from './vocabulary.ts';
