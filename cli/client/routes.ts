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
/** The operations that answer a value; pages, files and streams are for a browser or have a way of their own. */
export type OperationId = ValueId;
/** The operations behind a link that another one answered: it needs no key, and it is followed as it is. */
export type DownloadId = Extract<PageId, `download${string}`>;

let routes: Routes | undefined;

/** Where an operation is found. The contract is read with the first call, so that a command without one does not wait for it. */
export const routeOf = (operation: ContractId): Routes[ContractId] => (routes ??= loadRoutes())[operation];
