/**
 * Executes due runs of automations step by step. A step is done once, with all its effects in one transaction, and
 * nothing is done for a run that was canceled.
 */
export { createAutomationLoop, type Automations } from './runner/execute-run.ts';

/** Removes old refusals: the reasons why events started no run. */
export { removeExpiredRefusals } from './enrolment.ts';
