/**
 * Mail that machines write: by which signs it is known (RFC 3834, and what programs did before and beside it), and how an
 * automatic answer of ours marks itself.
 */
export {
  headersOfAutomaticAnswer,
  isNoReply,
  isWrittenByMachine,
  machineSigns,
  type MachineSign,
} from './machine-signs.ts';
