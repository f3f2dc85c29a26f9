import type { Advised, ByHand, ContractId } from '../cli/client/index.ts';
import { isByHand, createLineFormatter, type FormatAdvice } from '../cli/output/index.ts';
import type { Family, List } from '../cli/families/index.ts';
import { families, itemKeys, type BoundAction, type Section } from './catalog.ts';

/** Maps commands to the operation or screen of the console that does the same. */
const HERE: Partial<Record<ByHand, ContractId | 'overview'>> = {
  'contacts import-failures': 'getContactImport',
  doctor: 'overview',
  explain: 'getEmail',
  ready: 'overview',
  'webhooks replay': 'listParkedWebhookEvents',
};

const ID = /^(?:[0-9a-f]{8}-[0-9a-f-]{27}|[a-z]+_[0-9a-f]{16,})$/;

/** An open item: the parameters it was read by, and those that name it. */
export interface At {
  operation: string;
  keys: readonly string[];
}

interface Around {
  sections: readonly Section[];
  /** The sections and actions that the screen offers. */
  actions: readonly BoundAction[];
  at?: At | undefined;
}

/** For the console: a screen or a key in place of a command; the command itself if the console has neither. */
export const createConsoleFormatter =
  (around: Around): FormatAdvice =>
  (advice) => {
    const { words, command, isForLine } = advice;
    if (isForLine) return undefined;
    if (!command) return words;
    const called = isByHand(command[0]) ? HERE[command[0]] : command[0];
    // It is visible already.
    if (called !== undefined && called === around.at?.operation) return undefined;
    const place = called === undefined ? undefined : findPlace(called, command, around);
    if (place === undefined) return createLineFormatter()(advice);
    return words === '' ? place : `${words}: ${place}`;
  };

function findPlace(called: ContractId | 'overview', command: Advised, { sections, actions, at }: Around) {
  if (called === 'overview') return ':overview';
  const offered = actions.find(({ action }) => action.operation === called);
  if (offered) return `${offered.key} (${offered.label})`;
  const isShown = (section: Section): boolean =>
    (section.kind === 'list' && section.list.operation === called) ||
    (section.kind === 'report' && section.report.operation === called) ||
    (section.kind === 'item' && section.get.operation === called);
  const shown = sections.find(isShown);
  if (shown) return `:${shown.name}`;
  return placeInItem(called, command, { sections, at });
}

/** Finds the place within one item: its tabs, and its actions. */
function placeInItem(called: ContractId, [, ...words]: Advised, { sections, at }: Pick<Around, 'sections' | 'at'>) {
  for (const family of families) {
    const { get, actions = [] } = family;
    const list = family.list?.operation === called ? family.list : undefined;
    const action = actions.find(({ operation }) => operation === called);
    if (!list && !action && get?.operation !== called) continue;
    const outer = Object.keys(list?.path ?? {});
    const side = list && `→ ${nameList({ family, list })}`;
    if (side !== undefined && at && outer.length > 0 && isSame(outer, at.keys)) return side;
    const alone = sections.find((one) => one.kind === 'item' && one.family === family);
    if (alone && action) return `:${alone.name}, then ${action.key} (${action.verb})`;
    const section = findSection(family, sections, outer);
    if (!section) continue;
    const id = words.find((word) => ID.test(word));
    const item = `:${section.name}${id === undefined ? '' : ` ${id}`}`;
    if (side !== undefined) return `${item} ${side}`;
    return action ? `${item}, then ${action.key} (${action.verb})` : item;
  }
  return undefined;
}

/** Returns the name of a list: `attachments list` are the attachments, `emails events` the events, unless the family has another one. */
export const nameList = ({ family, list }: { family: Family; list: List }): string =>
  family.screens?.list ?? (list.verb === 'list' ? family.command : list.verb);

/**
 * Returns the family's own section, that of the items which a list belongs to, or that of the family it is shown with.
 */
function findSection(family: Family, sections: readonly Section[], outer: readonly string[]): Section | undefined {
  const lists = sections.filter((one) => one.kind === 'list');
  return (
    lists.find((one) => one.family === family || (outer.length > 0 && isSame(itemKeys(one.family), outer))) ??
    lists.find((one) => one.family.command === family.command)
  );
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((key) => other.includes(key));
