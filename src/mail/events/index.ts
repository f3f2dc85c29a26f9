/**
 * The append-only record of events. An event is written in the transaction that changed the state, so neither can exist
 * without the other. It is counted there as well, because metrics are sums of those counts, and passed on to all its
 * subscribers: the outboxes of endpoints and listeners, and automations that start at it. Events are never changed;
 * they are removed when the retention of their team's plan ends.
 */
export {
  eraseEvents,
  eraseOfEndpoints,
  holdEvents,
  eventPage,
  eventPageOfSubjects,
  eventsByIds,
  listEvents,
  eventsOfSubjects,
  lastEventAt,
  latestIdTime,
  recordEvents,
  listKnownEventIds,
  withoutEvent,
  removeEvents,
  removeOtherEvents,
} from './events.store.ts';
export { recordRunEvents, type RecordedEvent } from './write-events.store.ts';
export { offerSample } from './outbox.store.ts';
export {
  BATCHES,
  countStarting,
  enrol,
  ENROLLING_TYPES,
  listStartingAtEvent,
  chooseBatch,
  numberBatch,
  readEntry,
  type EnrollingType,
  type Enrolment,
  type Reentry,
} from './enrol.store.ts';
export {
  eraseRefusals,
  forgetRefusals,
  listRefusals,
  recordRefusals,
  removeOldRefusals,
  type RefusalReason,
  type RefusalRow,
} from './refusals.store.ts';
export { withoutWebhooks } from './without-webhooks.ts';
export {
  parseEventId,
  publicEventId,
  isByMachine,
  type NewEvent,
  type ContactData,
  type DomainData,
  type EventData,
  type EventDraft,
  type InboxEmailData,
  type InboxEventSource,
  type InboxThreadData,
  type ReceivedData,
  type SendingLimitData,
  type SuppressionData,
  EVENT_TYPES,
  UNTOLD,
  type EventType,
} from './event.ts';
export { COUNTERS, countedAs, listCounters, noCounts, type Counter, type Counts } from './counters.ts';
export { chooseShard } from './metric-counts.store.ts';
export { DAY_MINUTES, domainScope, QUARTER_MINUTES, TEAM_SCOPE } from './metric-counts.ts';
export { LAST_EVENTS, statesBefore, foldLastEvent } from './last-event.ts';
export type { LastEvent } from './last-event.ts';
