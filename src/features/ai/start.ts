/**
 * AI helpers with a model: subject lines, drafts and diagnoses. Asks only the configured server, passes texts as data,
 * requires results to match a schema, and never executes, sends or saves them, except for a diagnosis. If there is no
 * result, the credit is released and the caller gets 503.
 */
export { createModelHealth, type ModelHealth } from './ask-model.ts';
