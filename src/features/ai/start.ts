/**
 * The AI helpers with their model: subject lines, drafts and diagnoses. It asks the one server that the settings name, gives it texts
 * as data, keeps its answers to a schema, and executes, sends and saves nothing of them but a diagnosis. Where no answer comes, the
 * credit is given back and the caller hears 503.
 */
export { createModelHealth, type ModelHealth } from './ask-model.ts';
