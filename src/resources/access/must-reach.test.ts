import { expect, it } from 'vitest';
import type { Requirement } from '../../contract/index.ts';
import { Refusal } from '../../platform/refusal/index.ts';
import { mustReach, type Actor } from './index.ts';

const actors = {
  'full key': { kind: 'api_key', keyId: 'k', permission: 'full_access', domainId: null },
  'sending key': { kind: 'api_key', keyId: 'k', permission: 'sending_access', domainId: null },
  'SMTP password': { kind: 'smtp_credential', keyId: 'k', domainId: null },
  session: { kind: 'session', userId: 'u', role: 'viewer' },
  'grant with the scope': { kind: 'oauth_grant', grantId: 'g', scopes: ['emails:read'] },
  'grant without it': { kind: 'oauth_grant', grantId: 'g', scopes: ['emails:send'] },
  operator: { kind: 'operator', operatorId: 'o', name: 'Ada' },
  job: { kind: 'job', name: 'sweep' },
} satisfies Record<string, Actor>;

const requirements = {
  sending: { permission: 'sending_access', scope: 'emails:read' },
  full: { permission: 'full_access', scope: 'emails:read' },
  'full, no scope': { permission: 'full_access', scope: null },
  session: { permission: 'session', scope: null },
  nobody: { permission: null, scope: null },
  'scope alone': { permission: null, scope: 'emails:read' },
  operator: { permission: 'operator', scope: null },
} satisfies Record<string, Requirement>;

const YES = 'reaches it';
const SENDS = '401 restricted_api_key';
const NO = '403 invalid_permission';

/** In the order of the requirements above. */
const table: Record<keyof typeof actors, string[]> = {
  'full key': [YES, YES, YES, NO, NO, NO, NO],
  'sending key': [YES, SENDS, SENDS, SENDS, SENDS, SENDS, SENDS],
  'SMTP password': [YES, SENDS, SENDS, SENDS, SENDS, SENDS, SENDS],
  session: [YES, YES, YES, YES, NO, NO, NO],
  'grant with the scope': [YES, YES, NO, NO, NO, YES, NO],
  'grant without it': [NO, NO, NO, NO, NO, NO, NO],
  operator: [NO, NO, NO, NO, NO, NO, YES],
  job: [YES, YES, YES, YES, YES, YES, YES],
};

it.each(Object.entries(actors))('what a %s reaches', (name, actor) => {
  const verdicts = Object.values(requirements).map((requirement) => verdictOn(actor, requirement));
  expect(verdicts).toEqual(table[name as keyof typeof actors]);
});

function verdictOn(actor: Actor, requirement: Requirement): string {
  try {
    mustReach(actor, requirement);
    return YES;
  } catch (error) {
    if (error instanceof Refusal) return `${error.status} ${error.errorName}`;
    throw error;
  }
}
