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
} from './change-automations.ts';
export { durationMs, isVariable } from './check-configs.ts';
export { findGraph } from './automations.store.ts';
export type { Connection, ConnectionType, Graph, Step } from './graph.ts';
export { listRuleFields, meetsRule, type RuleContact } from './meets-rule.ts';
export { getAutomation, getAutomationRun, listAutomationRuns, listAutomations } from './read-automations.ts';
