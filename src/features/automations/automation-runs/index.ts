/**
 * Runs of automations: which contact is where in which version. A run is begun by the event that it starts at, in that
 * event's transaction. It promises that nothing of a contact that is erased, or of an automation that is stopped, goes on.
 */
export {
  cancelRunsOf,
  claimDueRuns,
  countRunsAtSteps,
  endRun,
  eraseRunsOf,
  findRun,
  forgetEntriesOf,
  isHeld,
  listRunRows,
  runRowsEnding,
  moveRun,
  nextRunAt,
  putOffRun,
  removeEndedRuns,
  stepsOfRun,
  writeRunStep,
  type HeldRun,
  type RunAtStep,
  type RunRow,
  type RunStatus,
  type RunStepRow,
} from './automation-runs.store.ts';
