import { expect, it } from 'vitest';
import { actionsOf, families, itemKeys, listsOf, operatorSections, sections } from './catalog.ts';

it('every family that can be listed, shown or reported is on a screen', () => {
  const roots = new Set<unknown>([...sections, ...operatorSections].flatMap((section) => Object.values(section)));
  // What is reached from an item that is itself reached.
  for (let size = -1; size !== roots.size;) {
    size = roots.size;
    for (const family of families) {
      if (!roots.has(family) && !roots.has(family.list)) continue;
      for (const inner of listsOf(itemKeys(family))) roots.add(inner.family).add(inner.list);
    }
  }
  const missing = families.filter(({ list, report }) => (list && !roots.has(list)) || (report && !roots.has(report)));
  expect(missing.map(({ list }) => list?.operation)).toEqual([]);
});

it('everything that can be done is offered somewhere', () => {
  const offered = new Set(
    families
      .flatMap((family) => [false, true].flatMap((isOnItem) => actionsOf(family, itemKeys(family), isOnItem)))
      .map(({ action }) => action.operation),
  );
  const all = families.flatMap(({ actions = [] }) => actions.map(({ operation }) => operation));
  expect(all.filter((operation) => !offered.has(operation))).toEqual([]);
});

it('the keys of a screen are one letter each and differ', () => {
  for (const family of families) {
    const keys = actionsOf(family, itemKeys(family), false).map(({ key }) => key);
    expect(new Set(keys).size, family.command).toBe(keys.length);
    expect(keys.filter((key) => !/^[a-zA-Z]$/.test(key) || 'jkhlgGrqyx'.includes(key))).toEqual([]);
  }
});

it('what is wanted most is on the digits', () => {
  expect(
    sections
      .slice(0, 10)
      .map(({ name }) => name)
      .join(' '),
  ).toBe('overview emails domains keys suppressions webhooks received templates logs contacts');
});

it('an operator has the queue and the audit log of all, and nothing of a team', () => {
  expect(operatorSections.map(({ name }) => name)).toEqual(['destinations', 'queue', 'holds', 'operator-audit']);
  const offered = operatorSections.map((section) =>
    'family' in section ? actionsOf(section.family, itemKeys(section.family), false).map(({ label }) => label) : [],
  );
  expect(offered).toEqual([['hold', 'retry', 'drop'], ['hold', 'retry', 'drop'], ['release'], []]);
  expect(sections.filter(({ isOperators }) => isOperators)).toEqual([]);
});
