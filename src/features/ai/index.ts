/**
 * AI helpers without the model: permissions, costs, the facts that a model gets about an email, and diagnoses without a
 * model. A credit is held from the admission of a request, and spent in the transaction that stores its result. Calls
 * no model itself.
 */
export { removeEmailDiagnoses } from './ai.store.ts';
