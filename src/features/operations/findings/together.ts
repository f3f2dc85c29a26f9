import { findingOf, type Finding } from './finding.ts';

export interface Trouble {
  name: string;
  since: number;
}

type Said = Partial<Pick<Finding, 'summary' | 'advice'>>;

/** One finding for all that are in the same trouble; a single one is named. */
export function together(
  code: Finding['code'],
  those: readonly Trouble[],
  ofOne: (name: string) => Said,
  ofMany: (count: number) => Said = () => ({}),
): Finding[] {
  const [first] = those;
  if (!first) return [];
  const since = Math.min(...those.map((one) => one.since));
  const said = those.length === 1 ? ofOne(first.name) : ofMany(those.length);
  return [findingOf(code, { ...said, since, subjects: those.map(({ name }) => name) })];
}
