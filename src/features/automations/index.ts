/**
 * Runs of automations: the progress of contacts through a version. A run is begun in the transaction of the event that
 * triggers it. Nothing continues of a contact that is erased, or of an automation that is stopped.
 */
export { eraseContactRuns, listRunsOfContact, removeEndedRuns, type RunRow } from './automation-runs.store.ts';

/**
 * Automations: graphs of steps that contacts pass through, in versions that never change. A stored graph can be
 * completed, everything that it names existed then, and an automation that is stopped or deleted has no runs left.
 */
export { createAutomation, getAutomation, listAutomations } from './automations.ts';
export { findAutomation, listDateProperties } from './automations.store.ts';
export { listStepMails } from './step-mails.ts';
export { previewContinuedRuns } from './continue-runs.ts';

/**
 * Custom events: names that a team declares and its programs send, each about one contact. A name belongs to one live
 * event, a payload matches the schema of its event, and an event and the runs it starts are one transaction.
 */
export { findCustomEventNamed, findEventIds } from './custom-events.store.ts';
export { createCustomEvent, sendCustomEvent } from './custom-events.ts';
