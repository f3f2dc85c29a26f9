import type { CommandFlag } from '../../src/contract/index.ts';

export type { CommandFlag as Flag, CommandKey as Key, Syntax } from '../../src/contract/index.ts';

/** The option of a field, without its dashes. */
export const optionOf = (field: string, { flag }: Pick<CommandFlag, 'flag'>): string =>
  flag ?? field.replaceAll('_', '-');
