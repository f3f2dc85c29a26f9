/**
 * Automations: graphs of steps that contacts are taken through, in versions that never change. It promises that a graph that
 * is stored can be gone through, that what it names was there, and that what is stopped or deleted has no run left.
 */
export {
  createAutomation,
  deleteAutomation,
  duplicateAutomation,
  stopAutomation,
  updateAutomation,
  getAutomation,
  getAutomationRun,
  listAutomationRuns,
  listAutomations,
} from './automations.ts';
export { durationMs, isVariable } from './check-steps.ts';
export { findGraph } from './automations.store.ts';
export type { Connection, ConnectionType, Graph, Step } from './graph.ts';
export { listRuleFields, meetsRule, type RuleContact } from './rules.ts';
