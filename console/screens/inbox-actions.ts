import { inboxEmails, inboxThreads, type Action, type Family } from '../../cli/families/index.ts';
import type { BoundAction } from '../catalog.ts';
import type { ThreadRow } from '../draw/thread.ts';
import type { Offer } from './screen.ts';

const actionIn = ({ actions = [] }: Family, verb: string): Action[] => actions.filter((one) => one.verb === verb);

const bind = (family: Family, keys: Readonly<Record<string, string>>): BoundAction[] =>
  Object.entries(keys).flatMap(([verb, key]) => actionIn(family, verb).map((action) => ({ action, key, label: verb })));

/** What has no key of its own on the screen. */
const ON_THREAD = bind(inboxThreads, {
  spam: 'p',
  trash: 't',
  reopen: 'i',
  assign: 'a',
  unassign: 'z',
  note: 'n',
  wake: 'w',
  'mark-read': 'm',
  'delete-thread': 'd',
});
const ON_EMAIL = bind(inboxEmails, { forward: 'f' });

const applies = (row: ThreadRow, { label }: BoundAction): boolean => {
  switch (label) {
    case 'wake':
      return row.snoozed_until !== null;
    case 'unassign':
      return row.assignee !== null;
    case 'mark-read':
      return !row.read;
    case 'reopen':
      return row.folder !== 'inbox';
    case 'spam':
    case 'trash':
      return row.folder !== label;
    default:
      return true;
  }
};

/** What can be done to a thread, and to the email in it that is answered. */
export function offersOn(inbox: string, row: ThreadRow | undefined, emailId: string | undefined): Offer[] {
  if (!row) return [];
  const path = { inbox, thread_id: row.id };
  const names = [row.subject ?? row.id];
  return [
    { actions: ON_THREAD.filter((bound) => applies(row, bound)), paths: [path], names },
    ...(emailId === undefined ? [] : [{ actions: ON_EMAIL, paths: [{ ...path, inbox_email_id: emailId }], names }]),
  ];
}
