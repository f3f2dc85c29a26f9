import {
  loadRoutes,
  type OperationId as ContractId,
  type PageId,
  type Routes,
  type ValueId,
} from '../../src/contract/index.ts';

/** Every operation of the contract; a refusal may come from any of them. */
export type { OperationId as ContractId } from '../../src/contract/index.ts';

export type { AnswerOf, BodyOf, CallOf, QueryOf } from '../../src/contract/index.ts';
/** The operations that return a value; pages, files and streams are for a browser or have functions of their own. */
export type OperationId = ValueId;
/** The operations of links that another one returned: they need no key, and the link is followed unchanged. */
export type DownloadId = Extract<PageId, `download${string}`>;

let routes: Routes | undefined;

/**
 * Returns the route of an operation. The contract is read with the first call, so that a command without one does not
 * wait for it.
 */
export const findRoute = (operation: ContractId): Routes[ContractId] => (routes ??= loadRoutes())[operation];
