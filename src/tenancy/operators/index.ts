/**
 * Operators: who may see and change what concerns the whole installation over the API. Their tokens are made and ended on
 * the machine alone, shown once and kept as hashes; they belong to no team and reach none.
 */
export { createOperator } from './create-operator.ts';
export { createOperatorAuthentication, OPERATOR_PREFIX } from './authenticate-operator.ts';
export { createMachineAuthentication, PASS_PREFIX, writeMachinePass } from './machine-pass.ts';
export { listOperators, type OperatorRow } from './operators.store.ts';
export { findOperator, revokeOperator } from './revoke-operator.ts';
