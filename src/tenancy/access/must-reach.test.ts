import { expect, it } from 'vitest';
import type { Requirement } from '../../contract/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import { authorize, NO_LIMITS, type Actor } from './index.ts';

const session = { kind: 'session', sessionId: 's', userId: 'u', name: 'ada@example.com' } as const;
const person = {
  grantId: 'g',
  clientId: 'c',
  clientName: 'Newsletter Desk',
  userId: 'u',
  name: 'ada@example.com',
  role: 'owner',
} as const;
const grant = { kind: 'oauth_grant', ...person, limits: NO_LIMITS } as const;

const actors = {
  'full key': { kind: 'api_key', keyId: 'k', permission: 'full_access', domainId: null },
  'sending key': { kind: 'api_key', keyId: 'k', permission: 'sending_access', domainId: null },
  'SMTP password': { kind: 'smtp_credential', keyId: 'k', domainId: null },
  viewer: { ...session, role: 'viewer' },
  member: { ...session, role: 'member' },
  admin: { ...session, role: 'admin' },
  owner: { ...session, role: 'owner' },
  'person without a team': { ...session, role: null },
  'grant with the scope': { ...grant, scopes: ['emails:read'] },
  'grant without it': { ...grant, scopes: ['emails:send'] },
  'grant of a viewer': { ...grant, scopes: ['emails:read'], role: 'viewer' },
  operator: { kind: 'operator', operatorId: 'o', name: 'Ada' },
  job: { kind: 'job', name: 'sweep' },
} satisfies Record<string, Actor>;

const requirements = {
  sending: { permission: 'sending_access', scope: 'emails:read', role: 'member' },
  reading: { permission: 'full_access', scope: 'emails:read', role: 'viewer' },
  'settings, no scope': { permission: 'full_access', scope: null, role: 'admin' },
  'sessions of owners': { permission: 'session', scope: null, role: 'owner' },
  'sessions, no team': { permission: 'session', scope: null, role: null },
  'role forgotten': { permission: 'full_access', scope: null, role: null },
  nobody: { permission: null, scope: null, role: null },
  'scope alone': { permission: null, scope: 'emails:read', role: null },
  operator: { permission: 'operator', scope: null, role: null },
} satisfies Record<string, Requirement>;

const YES = 'reaches it';
const SENDS = '401 restricted_api_key';
const NO = '403 invalid_permission';

/** One column for each requirement, in the order above. */
const table: Record<keyof typeof actors, string[]> = {
  'full key': [YES, YES, YES, NO, NO, YES, NO, NO, NO],
  'sending key': [YES, SENDS, SENDS, SENDS, SENDS, SENDS, SENDS, SENDS, SENDS],
  'SMTP password': [YES, SENDS, SENDS, SENDS, SENDS, SENDS, SENDS, SENDS, SENDS],
  viewer: [NO, YES, NO, NO, YES, NO, NO, NO, NO],
  member: [YES, YES, NO, NO, YES, NO, NO, NO, NO],
  admin: [YES, YES, YES, NO, YES, NO, NO, NO, NO],
  owner: [YES, YES, YES, YES, YES, NO, NO, NO, NO],
  'person without a team': [NO, NO, NO, NO, YES, NO, NO, NO, NO],
  'grant with the scope': [YES, YES, NO, NO, NO, NO, NO, YES, NO],
  'grant without it': [NO, NO, NO, NO, NO, NO, NO, NO, NO],
  'grant of a viewer': [NO, YES, NO, NO, NO, NO, NO, YES, NO],
  operator: [NO, NO, NO, NO, NO, NO, NO, NO, YES],
  job: [YES, YES, YES, YES, YES, YES, YES, YES, YES],
};

it.each(Object.entries(actors))('a %s can call exactly the operations of the table', (name, actor) => {
  const verdicts = Object.values(requirements).map((requirement) => verdictOn(actor, requirement));
  expect(verdicts).toEqual(table[name as keyof typeof actors]);
});

function verdictOn(actor: Actor, requirement: Requirement): string {
  try {
    authorize(actor, requirement);
    return YES;
  } catch (error) {
    if (error instanceof Refusal) return `${error.status} ${error.errorName}`;
    throw error;
  }
}
