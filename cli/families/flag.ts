import type { CommandFlag } from '../../src/contract/index.ts';

export type { CommandFlag as Flag, CommandKey as Key, Syntax } from '../../src/contract/index.ts';

/** The option of a field, without its dashes. */
export const toOptionName = (field: string, { flag }: Pick<CommandFlag, 'flag'>): string =>
  flag ?? field.replaceAll('_', '-');

/** Returns the help of a flag with the values that it takes, unless the text names them. */
export function explainFlag({ says, choices = [], preset, isEmptied }: CommandFlag): string {
  if (isEmptied) return `${says}; an empty value removes it`;
  if (preset !== undefined || choices.every((choice) => says.includes(choice))) return says;
  return `${says}: ${[choices.slice(0, -1).join(', '), choices.at(-1)].filter(Boolean).join(' or ')}`;
}
