import { loadRoutes, type Routes, type ValueId } from '../../src/contract/index.ts';

export type { AnswerOf, BodyOf, CallOf, QueryOf } from '../../src/contract/index.ts';
/** The operations that answer a value; pages, files and streams are for a browser or have a way of their own. */
export type OperationId = ValueId;

let routes: Routes | undefined;

/** Where an operation is found. The contract is read with the first call, so that a command without one does not wait for it. */
export const routeOf = (operation: OperationId): Routes[OperationId] => (routes ??= loadRoutes())[operation];
