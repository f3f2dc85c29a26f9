/**
 * Operators: those who may see and change the whole installation over the API. Their tokens are created and revoked on
 * the machine alone, shown once and kept as hashes; they belong to no team and reach none.
 */
export {
  createOperator,
  createOperatorAuthentication,
  OPERATOR_PREFIX,
  createMachineAuthentication,
  PASS_PREFIX,
  writeMachinePass,
  findOperator,
  revokeOperator,
} from './operators.ts';
export { listOperators, type OperatorRow } from './operators.store.ts';
