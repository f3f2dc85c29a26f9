import * as declared from '../families/index.ts';

/** A new family is here as soon as cli/families has it. */
export const everyFamily: readonly declared.Family[] = Object.values(declared).filter(
  (value): value is never => typeof value === 'object',
);
