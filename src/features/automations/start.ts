/**
 * Automations in motion: runs that are due are taken from step to step. It promises that a step is done once, with all it
 * does in one transaction, and that nothing is done of a run that was cancelled.
 */
export { createAutomationLoop, type Automations } from './runner/carry-run.ts';
