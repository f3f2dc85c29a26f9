import type { OperationId } from './calls.ts';
import { listOperations } from './document.ts';
import { loadContract } from './load.ts';

export type Routes = Readonly<Record<OperationId, readonly [method: string, path: string]>>;

/**
 * Returns method and path of each operation. A build contains the result (bin/build.ts): reading the document costs
 * more than most calls.
 */
export function loadRoutes(): Routes {
  const entries = listOperations(loadContract()).map(({ operationId, method, path }) => [
    operationId,
    [method.toUpperCase(), path],
  ]);
  return Object.fromEntries(entries) as Routes;
}
