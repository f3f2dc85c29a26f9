import { expect, test } from 'vitest';
import {
  readRequirement,
  ANY_SCOPE,
  listOperations,
  loadContract,
  ROLES,
  SCOPE_NAMES,
  type Requirement,
  type Role,
} from '../../src/contract/index.ts';
import { describeAccess } from '../../src/contract/access.ts';
import { Refusal } from '../../src/platform/refusal.ts';
import { authorize, NO_LIMITS, type Actor } from '../../src/tenancy/access/index.ts';

interface Described {
  operationId: string;
  requirement: Requirement;
  /** The last line of its description, which says who may call it. */
  says: string;
}

const described: Described[] = listOperations(loadContract()).map(({ operationId, operation }) => ({
  operationId,
  requirement: readRequirement(operation),
  says: operation.description.trim().split('\n').at(-1) ?? '',
}));

const scopes = [...new Set(described.flatMap(({ requirement: { scope } }) => scope ?? []))];

interface Caller {
  name: string;
  actor: Actor;
  /** Returns whether the documentation of an operation names this caller. */
  isNamed: (says: string) => boolean;
}

const OF_NOBODY = 'Needs no credential.';
const SENDING_KEY = 'an API key with `sending_access`';
const ANY_KEY = /an API key with `(?:sending|full)_access`/;

/** The least role that is named, or none that is needed. */
function isNamedAs(role: Role | null, says: string): boolean {
  const [isOfSessions, least] = /a dashboard session(?: as `(\w+)`)?/.exec(says) ?? [];
  if (isOfSessions === undefined || least === undefined) return isOfSessions !== undefined;
  return role !== null && ROLES.indexOf(role) >= ROLES.findIndex((one) => one === least);
}

/** Every kind of caller, so that the compiler asks for a new one. */
const callers: Record<Actor['kind'], Caller[]> = {
  api_key: [
    {
      name: 'a key with full_access',
      actor: { kind: 'api_key', keyId: 'k', permission: 'full_access', domainId: null },
      isNamed: (says) => ANY_KEY.test(says),
    },
    {
      name: 'a key with sending_access',
      actor: { kind: 'api_key', keyId: 'k', permission: 'sending_access', domainId: null },
      isNamed: (says) => says.includes(SENDING_KEY),
    },
  ],
  // The documentation is of HTTP; over SMTP any key does what one with sending_access may.
  smtp_credential: [
    {
      name: 'a key as the password of SMTP',
      actor: { kind: 'smtp_credential', keyId: 'k', domainId: null },
      isNamed: (says) => says.includes(SENDING_KEY),
    },
  ],
  session: [...ROLES, null].map((role) => ({
    name: role === null ? 'a session without a team' : `a session of a team's ${role}`,
    actor: { kind: 'session', sessionId: 's', userId: 'u', name: 'ada@example.com', role },
    isNamed: (says) => isNamedAs(role, says),
  })),
  oauth_grant: scopes.map((scope) => ({
    name: `a grant of ${scope}`,
    actor: {
      kind: 'oauth_grant',
      grantId: 'g',
      clientId: 'c',
      clientName: 'Newsletter Desk',
      userId: 'u',
      name: 'ada@example.com',
      scopes: [scope],
      role: 'owner',
      limits: NO_LIMITS,
    },
    isNamed: (says) => says.includes(`an access token with \`${scope}\``) || / or an access token\.$/.test(says),
  })),
  operator: [
    {
      name: 'an operator',
      actor: { kind: 'operator', operatorId: 'o', name: 'Ada' },
      isNamed: (says) => says.includes('the token of an operator'),
    },
  ],
  // The program itself calls no operation by a door that is documented.
  job: [],
};

function isLetIn(actor: Actor, requirement: Requirement): boolean {
  try {
    authorize(actor, requirement);
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

/** Lists where the documentation of an operation and its access check differ. */
const differences = (operations: readonly Described[], letsIn = isLetIn): string[] =>
  operations.flatMap(({ operationId, requirement, says }) =>
    Object.values(callers)
      .flat()
      .flatMap(({ name, actor, isNamed }) => {
        const isDocumented = says === OF_NOBODY || isNamed(says);
        if (letsIn(actor, requirement) === isDocumented) return [];
        return `${operationId}: ${name} is ${isDocumented ? 'documented and refused' : 'let in and not documented'}`;
      }),
  );

test('every operation can be called by exactly the callers that its documentation names', () => {
  expect(described.length).toBeGreaterThan(100);
  expect(scopes.length).toBeGreaterThan(5);
  expect(differences(described)).toEqual([]);
});

// Marks that no operation of the contract has today.
test.each<[Requirement, string]>([
  [{ permission: 'session', scope: null, role: null }, 'Needs a dashboard session.'],
  [{ permission: 'session', scope: null, role: 'owner' }, 'Needs a dashboard session as `owner`.'],
  [{ permission: null, scope: 'emails:read', role: null }, 'Needs an access token with `emails:read`.'],
  [{ permission: null, scope: null, role: null }, 'No credential reaches it.'],
])('%j is documented as it is enforced', (requirement, says) => {
  expect(describeAccess(requirement)).toBe(says);
  expect(differences([{ operationId: 'planted', requirement, says }])).toEqual([]);
});

test('every scope of an operation is in the catalog, and the consent page explains it', () => {
  for (const scope of scopes) expect([...SCOPE_NAMES, ANY_SCOPE]).toContain(scope);
  expect(SCOPE_NAMES.filter((name) => !scopes.includes(name))).toEqual([]);
});

test('a grant reaches no more than its person may at that moment', () => {
  const access: Requirement = { permission: 'full_access', scope: 'team:write', role: 'admin' };
  const grant = {
    kind: 'oauth_grant' as const,
    grantId: 'g',
    clientId: 'c',
    clientName: 'Newsletter Desk',
    userId: 'u',
    name: 'ada@example.com',
    scopes: ['team:write'],
    limits: NO_LIMITS,
  };
  const reached = ROLES.filter((role) => isLetIn({ ...grant, role }, access));
  expect(reached).toEqual(['admin', 'owner']);
});

test('a difference between documentation and enforcement is found on either side', () => {
  const [usage] = described.filter(({ operationId }) => operationId === 'getUsage');
  if (!usage) throw new Error('the contract has no getUsage');
  const silent = { ...usage, says: usage.says.replace('a dashboard session as `viewer` or higher', '') };
  expect(differences([silent])).toEqual([
    "getUsage: a session of a team's viewer is let in and not documented",
    "getUsage: a session of a team's member is let in and not documented",
    "getUsage: a session of a team's admin is let in and not documented",
    "getUsage: a session of a team's owner is let in and not documented",
  ]);
  const strict = (actor: Actor, requirement: Requirement): boolean =>
    isLetIn(actor, requirement) && !(actor.kind === 'session' && actor.role === 'viewer');
  expect(differences([usage], strict)).toEqual(["getUsage: a session of a team's viewer is documented and refused"]);
});
