import { describe, expect, it } from 'vitest';
import { emails, type Action, type Family } from '../cli/families/index.ts';
import {
  listActions,
  families,
  itemKeys,
  findLists,
  operatorSections,
  listPlaces,
  RESERVED,
  sections,
} from './catalog.ts';

it('every family that can be listed, shown or reported is on a screen', () => {
  const roots = new Set<unknown>([...sections, ...operatorSections].flatMap((section) => Object.values(section)));
  // Families that are reached from an item which is itself reached.
  for (let size = -1; size !== roots.size;) {
    size = roots.size;
    for (const family of families) {
      if (!roots.has(family) && !roots.has(family.list)) continue;
      for (const inner of findLists(itemKeys(family))) roots.add(inner.family).add(inner.list);
    }
  }
  const missing = families.filter(({ list, report }) => (list && !roots.has(list)) || (report && !roots.has(report)));
  expect(missing.map(({ list }) => list?.operation)).toEqual([]);
});

it('every action is offered on some screen', () => {
  const offered = new Set(
    families
      .flatMap((family) => [false, true].flatMap((isOnItem) => listActions(family, itemKeys(family), isOnItem)))
      .map(({ action }) => action.operation),
  );
  const all = families.flatMap(({ actions = [] }) => actions.map(({ operation }) => operation));
  expect(all.filter((operation) => !offered.has(operation))).toEqual([]);
});

describe('the keys of a screen', () => {
  const findFaults = (family: Family): string[] =>
    [false, true].flatMap((isOnItem) => {
      const bound = listActions(family, itemKeys(family), isOnItem);
      return bound
        .filter(({ key }, at) => !isFree(key) || bound.findIndex((other) => other.key === key) !== at)
        .map(({ key, action }) => `${family.command}: ${action.operation} has ${key}`);
    });
  const isFree = (key: string): boolean => /^[a-zA-Z]$/.test(key) && !RESERVED.includes(key);

  it('are unique among the actions of the screen', () => {
    expect(families.flatMap(findFaults)).toEqual([]);
  });

  it.each([
    ['that another action uses', 's'],
    ['that every screen uses', 'q'],
    ['that is empty', ''],
  ])('are reported as faulty when an action declares one %s', (_, key) => {
    const planted: Family = { ...emails, actions: emails.actions.map((one, at) => (at === 1 ? { ...one, key } : one)) };
    expect(findFaults(planted)).toEqual([`emails: sendBatch has ${key}`]);
  });

  it('do not change when another action is declared before them', () => {
    const planted: Family = { ...emails, actions: [{ ...emails.actions[0], key: 'z' } as Action, ...emails.actions] };
    const listKeys = (family: Family) =>
      listActions(family, itemKeys(family), false).map(({ key, label }) => key + label);
    expect(listKeys(planted)).toEqual(['zsend', ...listKeys(emails)]);
  });
});

it('an action keeps the key that people know, because changing this list moves a key under their fingers', () => {
  const listKeys = (family: Family, isOnItem: boolean): string =>
    listActions(family, itemKeys(family), isOnItem)
      .map(({ key, label }) => `${key} ${label}`)
      .join(', ');
  const screens = families.flatMap((family) => {
    const { command, list } = family;
    const name = list === undefined ? command : `${command} ${list.verb}`;
    const inList = listKeys(family, false);
    const onItem = listKeys(family, true);
    if (inList === '') return [];
    return [`${name}: ${inList}`, ...(inList.includes(onItem) ? [] : [`${name}, an item: ${onItem}`])];
  });
  expect(screens.join('\n')).toMatchInlineSnapshot(`
    "ai: s subject-lines, d draft
    keys list: c create, u update, e revoke
    approvals list: z reject-all, a approve, n reject
    automations runs: t retry, i skip
    automations list: c create, u update, s stop, d duplicate, n enrol, w why, p dry-run, f retry-failed, o share, b unshare, e delete
    billing: c change, p checkout, o portal
    breakers list: e release
    broadcasts list: c create, u update, s send, n cancel, z pause, m resume, a archive, w unarchive, d duplicate, e delete, i checklist, p preview, o share, b unshare, t test, v checks
    tls: w renew
    contacts imports: i import
    contact-properties list: c create, u update, d delete
    contacts segments: a add-segment, e remove-segment
    contacts topics: s set-topics
    contacts list: c create, f erase, u update, d delete, a add-segment, e remove-segment, s set-topics
    events list: c create, s send, u update, d delete
    domains: a claim, z zone, n configure, i claim-status, m claim-verify, p reports, w reputation, u update, v verify, o rotate, e regenerate, d delete, s rules
    domains: a claim, i claim-status, m claim-verify, z zone, n configure, p reports, w reputation, u update, v verify, o rotate, e regenerate, d delete, s rules
    domains report-list: p reports, z zone, n configure, i claim-status, m claim-verify, w reputation, s rules
    domains: a claim, w reputation, z zone, n configure, i claim-status, m claim-verify, p reports, u update, v verify, o rotate, e regenerate, d delete, s rules
    domains list: c create, a claim, u update, v verify, o rotate, e regenerate, d delete, z zone, n configure, i claim-status, m claim-verify, p reports, w reputation, s rules
    egress list: s warmup start, p warmup pause, c warmup continue, t warmup stop, w warmup status
    emails list: s send, b batch, e reschedule, c cancel, w diagnose, a create a link, v revoke a link
    forms list: c create, s snippet, u update, d delete
    images list: c upload, d delete
    inbound-rules list: c create, u update, d delete
    inbox drafts: w write, u edit, s send, d discard
    inbox emails: a reply, f forward, e render
    inbox threads: c change, e archive, i reopen, M automatic, p spam, t trash, u unread, f mark-read, s snooze, w wake, a assign, z unassign, n note, b label, v set-labels, B unlabel, d delete-thread
    inbox list: c create, u update, d delete, b labels, n create-label, m update-label, o delete-label, i agent, a set-agent, w write, B unlabel
    invitations list: c create, a accept, w withdraw
    members list: u update, n unlink, d remove
    oauth-clients list: d disable, e enable
    oauth-grants list: m limit, e revoke
    findings: e examine
    team list: c create, s switch
    webhooks parked: e replay
    providers list: s suspend, e resume, d reset
    queue list: o hold, e retry, d drop
    queue holds: e release
    received list: d delete
    reputation: p reputation
    segments list: c create, p preview, u update, d delete, m metrics, a add-segment a segment, e remove-segment a segment
    domains: a claim, s rules, z zone, n configure, i claim-status, m claim-verify, p reports, w reputation, u update, v verify, o rotate, e regenerate, d delete
    sessions list: e end
    shares: a create, v revoke, e reschedule an email, c cancel an email, w diagnose an email
    sso: u set, a add-domain, v verify-domain, m remove-domain, d remove
    suppressions list: a add, e remove
    team: u update, w renew-archive
    templates list: c create, u update, p publish, d duplicate, o share, b unshare, e delete
    topics list: c create, u update, d delete
    webhooks events: e replay
    webhooks list: c create, t trigger, u update, d delete, o rotate-secret"
  `);
});

it('the digit keys open the ten most used screens', () => {
  expect(
    sections
      .slice(0, 10)
      .map(({ name }) => name)
      .join(' '),
  ).toBe('overview emails domains keys suppressions webhooks received templates logs contacts');
});

it('an operator sees the queue, the providers, the circuit breakers, the sources, the reputation, the apps, the certificates, the audit log and the findings of the instance, and nothing of a team', () => {
  expect(operatorSections.map(({ name }) => name)).toEqual([
    'destinations',
    'queue',
    'holds',
    'providers',
    'breakers',
    'egress',
    'reputation',
    'certificates',
    'oauth-clients',
    'operator-audit',
    'operator-findings',
  ]);
  const offered = operatorSections.map((section) =>
    'family' in section ? listActions(section.family, itemKeys(section.family), false).map(({ label }) => label) : [],
  );
  expect(offered).toEqual([
    ['hold', 'retry', 'drop'],
    ['hold', 'retry', 'drop'],
    ['release'],
    ['suspend', 'resume', 'reset'],
    ['release'],
    ['warmup start', 'warmup pause', 'warmup continue', 'warmup stop', 'warmup status'],
    [],
    ['renew'],
    ['disable', 'enable'],
    [],
    ['examine'],
  ]);
  expect(sections.filter(({ isOperators }) => isOperators)).toEqual([]);
});

it('the console names the screens on which an action is offered', () => {
  expect(listPlaces('replay', false)).toEqual(['webhooks › parked', 'webhooks › events']);
  expect(listPlaces('preview', false)).toContain('segments');
  expect(listPlaces('replay', true)).toEqual([]);
  expect(listPlaces('nothing of this kind', false)).toEqual([]);
});
