/**
 * The AI helpers without their model: who may ask, what it costs, what a model is told of an email, and what is said of one
 * without a model. A credit is held from the moment a request is let in, and spent in the transaction that keeps its answer.
 * It calls no model itself.
 */
export { removeDiagnosesOf } from './ai.store.ts';
