/**
 * Runs of automations: which contact is where in which version. A run is begun by the event that it starts at, in that
 * event's transaction. It promises that nothing of a contact that is erased, or of an automation that is stopped, goes on.
 */
export { eraseRunsOf, removeEndedRuns } from './automation-runs.store.ts';

/**
 * Automations: graphs of steps that contacts are taken through, in versions that never change. It promises that a graph that
 * is stored can be gone through, that what it names was there, and that what is stopped or deleted has no run left.
 */
export { createAutomation, getAutomation, listAutomations } from './automations.ts';

/**
 * Custom events: names that a team declares and its programs send, each about one contact. It promises that a name is one
 * live event's, that a payload is as its event says, and that an event and the runs it starts are one transaction.
 */
export { findCustomEventNamed } from './custom-events.store.ts';
export { createCustomEvent, sendCustomEvent } from './custom-events.ts';
