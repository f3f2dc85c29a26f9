import type { OperationId } from './calls.ts';
import type { CommandText } from './command-text.ts';
import { loadContract } from './load.ts';

export type { CommandFlag, CommandKey, CommandText, Syntax, ValueType } from './command-text.ts';

/**
 * Returns every command, by its operation. A build contains the result (bin/build-plugins.ts), as it does for
 * `loadRoutes`.
 */
export const loadCommands = (): Readonly<Partial<Record<OperationId, CommandText>>> => loadContract()['x-commands'];
