import type { Action, Detail, Family, Key, List, Report } from '../cli/families/index.ts';
import { everyFamily } from '../cli/output/index.ts';

/** A screen of the first level, which `:` and the digits lead to. */
export type Section = { name: string; summary: string; isOperators: boolean } & (
  | { kind: 'overview' }
  | { kind: 'metrics' }
  | { kind: 'reputation' }
  | { kind: 'list'; family: Family; list: List }
  | { kind: 'item'; family: Family; get: Detail }
  | { kind: 'report'; family: Family; report: Report }
);

export const families = everyFamily;

/** The most important sections are on the digits; the others follow in alphabetical order. */
const FIRST = [
  'overview',
  'emails',
  'domains',
  'keys',
  'suppressions',
  'webhooks',
  'received',
  'templates',
  'logs',
  'contacts',
  // The sections for an operator's token.
  'destinations',
  'queue',
  'holds',
  'providers',
  'breakers',
  'egress',
  'reputation',
];

const every: readonly Section[] = [
  { name: 'overview', summary: 'show the state of everything', isOperators: false, kind: 'overview' } as const,
  { name: 'metrics', summary: 'show counts and rates of sent mail', isOperators: false, kind: 'metrics' } as const,
  {
    name: 'reputation',
    summary: 'show how providers take the mail of each source',
    isOperators: true,
    kind: 'reputation',
  } as const,
  ...families.flatMap(buildSections),
].sort((a, b) => computeRank(a) - computeRank(b));

/** Reports whether the section needs a person, while a key is in use. */
export const isClosed = (section: Section, isPerson: boolean): boolean =>
  !isPerson && 'family' in section && section.family.isPeoples === true;

/** The sections for the key of a team, or the session of a person. */
export const sections: readonly Section[] = every.filter(({ isOperators }) => !isOperators);

/** The sections for the token of an operator, which has no access to teams. */
export const operatorSections: readonly Section[] = every.filter(({ isOperators }) => isOperators);

function computeRank({ name }: Section): number {
  return FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length;
}

function buildSections(family: Family): Section[] {
  const { command, list, get, report, summary, screens, isOperators = false } = family;
  const isWhole = (path: Readonly<Record<string, Key>>): boolean => Object.keys(path).length === 0;
  // Families that share a command are distinguished by their verb: `contacts imports` are the imports.
  const chooseName = (verb: string, usual: string): string => (verb === usual ? command : verb);
  const reports: Section[] = report
    ? [{ name: screens?.report ?? command, summary: report.summary, isOperators, kind: 'report', family, report }]
    : [];
  if (list && isWhole(list.path)) {
    const name = screens?.list ?? chooseName(list.verb, 'list');
    const isApart = screens?.report !== undefined;
    return [...(isApart ? reports : []), { name, summary: list.summary, isOperators, kind: 'list', family, list }];
  }
  if (report) return reports.map((section) => ({ ...section, summary }));
  if (get && isWhole(get.path)) {
    return [{ name: chooseName(get.verb, 'get'), summary, isOperators, kind: 'item', family, get }];
  }
  return [];
}

/** Returns the screens that have an action with this verb. */
export const listPlaces = (verb: string, isOperators: boolean): readonly string[] =>
  families
    .filter(({ isOperators: isTheirs = false }) => isTheirs === isOperators)
    .filter(({ actions = [] }) => actions.some((action) => action.verb === verb))
    .map((family) => {
      const { command, list, get } = family;
      return buildSections(family)[0]?.name ?? `${command} › ${list?.verb ?? get?.verb ?? verb}`;
    });

/** Returns the parameters that identify an item of a family: those of its detail, or else of its actions. */
export function itemKeys({ get, list, actions = [] }: Family): readonly string[] {
  if (isAlone(get) && !list) return [];
  const outer = Object.keys(list?.path ?? {});
  const paths = [get, ...actions].map((one) => Object.keys(one?.path ?? {}));
  return paths.find((keys) => keys.length === outer.length + 1 && outer.every((key) => keys.includes(key))) ?? [];
}

/** Returns the path of a row of a list; undefined if the API has no more about it than the row. */
export function pathOfRow(
  family: Family,
  outer: Readonly<Record<string, string>>,
  id: string,
): Record<string, string> | undefined {
  const own = itemKeys(family).find((key) => !(key in outer));
  return own === undefined ? undefined : { ...outer, [own]: id };
}

/** Returns the detail of an item; a family without one uses that of another list of the same objects. */
export function detailOfRow(family: Family, path: Readonly<Record<string, string>>): Detail | undefined {
  const isItem = ({ get }: Family): boolean => get !== undefined && Object.keys(get.path).every((key) => key in path);
  if (family.get) return isItem(family) ? family.get : undefined;
  const isAlike = (other: Family): boolean => other.command === family.command && other.noun === family.noun;
  return families.find((other) => isAlike(other) && isItem(other))?.get;
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((key) => other.includes(key));

/** The lists that belong to one item. */
export const findLists = (keys: readonly string[]): readonly { family: Family; list: List }[] =>
  keys.length === 0
    ? []
    : families.flatMap((family) =>
        family.list && isSame(Object.keys(family.list.path), keys) ? [{ family, list: family.list }] : [],
      );

/** An action with the key and the label that it has on one screen. */
export interface BoundAction {
  action: Action;
  key: string;
  label: string;
}

/** A detail without parameters has a screen of its own. */
const isAlone = (get: Detail | undefined): boolean => get !== undefined && Object.keys(get.path).length === 0;

/**
 * Returns the actions on an item, or those of its list, such as one that creates a new one. A form asks for further
 * parameters of the path.
 */
export function listActions(family: Family, keys: readonly string[], isOnItem: boolean): readonly BoundAction[] {
  // Claims have no list of their own: they are created on the list of domains.
  const withoutScreen = families.filter(
    (other) =>
      other !== family && other.command === family.command && !other.list && !other.report && !isAlone(other.get),
  );
  const own = [family, ...withoutScreen]
    .flatMap(({ actions = [] }) => actions)
    .filter(
      ({ path }) =>
        (!isOnItem || keys.length === 0) &&
        (isAlone(family.get) && !family.list
          ? keys.length === 0
          : isSame(Object.keys(path), Object.keys(family.list?.path ?? {}))),
    );
  const toItem =
    keys.length === 0
      ? []
      : // Its own first: they have the keys that one expects.
        [family, ...families.filter((other) => other !== family)].flatMap((other) =>
          (other.actions ?? [])
            .filter(({ path, operation }) => keys.every((key) => key in path) && !isOfInner(operation, keys))
            .map((action) => ({ action, label: formatLabel(other, family, action) })),
        );
  const all = [...own.map((action) => ({ action, label: action.verb })), ...toItem].filter(
    ({ action }, at, list) => list.findIndex((one) => one.action === action) === at,
  );
  return all.map(({ action, label }) => ({ action, label, key: action.key }));
}

/** The actions that apply to all of the items, and those that do not. */
export function applicable(
  actions: readonly BoundAction[],
  items: readonly object[],
): { actions: BoundAction[]; withheld: BoundAction[] } {
  const isFor = ({ action: { only } }: BoundAction): boolean =>
    items.every((item) => only?.when(item as never) ?? true);
  return { actions: actions.filter(isFor), withheld: actions.filter((bound) => !isFor(bound)) };
}

/** Reports whether the operation is for a part of the item that has a detail of its own, where it is offered. */
const isOfInner = (operation: string, keys: readonly string[]): boolean =>
  families.some(({ get, actions = [] }) => {
    const inner = Object.keys(get?.path ?? {});
    return (
      inner.length > keys.length &&
      actions.some((one) => one.operation === operation && isSame(Object.keys(one.path), inner))
    );
  });

/** The keys that every screen has. */
export const RESERVED = [...'jkJKhlgGrqyx', '/', ':', '?', ' ', '<', '>', '=', ...'0123456789'];

function formatLabel(family: Family, shown: Family, { verb }: Action): string {
  if (family.command === shown.command) return verb;
  return `${verb} ${family.noun}`;
}
