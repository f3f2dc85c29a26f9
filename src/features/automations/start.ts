/**
 * Executes due runs of automations step by step. A step is done once, with all its effects in one transaction, and
 * nothing is done for a run that was canceled.
 */
export { createAutomationLoop, type Automations } from './runner/execute-run.ts';

/** Removes what is no longer kept of enrolments: the reasons why events started no run, and dates that have passed. */
export { removeOldEnrolments } from './enrolment.ts';

/** Starts runs for dates that contacts have in a property. */
export { startDates } from './runner/start-dates.ts';
