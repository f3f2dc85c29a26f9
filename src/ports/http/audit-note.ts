import type { OperationValidators } from '../../contract/index.ts';
import { whoActed, type AuditNote } from '../../tenancy/audit/index.ts';
import { redactBody, redactTokens } from '../../tenancy/logs/index.ts';
import type { CheckedRequest } from './checked-request.ts';
import type { Caller } from './request-log.ts';

const DETAILS_BYTES = 2000;
const USER_AGENT_CHARS_MAX = 500;

/** The audit log's entry for a request: who called, from where, what was changed, and with which fields. */
export function noteOf(
  { operation }: OperationValidators,
  { request, caller, body, parameters }: CheckedRequest,
): AuditNote {
  if (!caller) throw new Error('an audited operation is never run without a caller');
  // Where a path begins with the team, what the entry is about stands behind it.
  const { team_id: inPath, ...below } = parameters.path;
  const named = namedIn(operation.operationId, below);
  // A switch is known to the team that is entered.
  const teamId = operation.operationId === 'switchTeam' ? String(inPath) : caller.teamId;
  const isOfTeam = operation.operationId === 'updateTeam' || operation.operationId === 'switchTeam';
  return {
    team_id: teamId,
    action: operation['x-service-audit'] ?? '',
    subject_id: typeof named === 'string' ? named : isOfTeam ? teamId : null,
    ...whoActed(caller.actor),
    address: request.ip,
    user_agent: redactTokens(request.headers['user-agent'] ?? '').slice(0, USER_AGENT_CHARS_MAX),
    request_id: request.id,
    details: detailsOf(grantOf(caller), request.method === 'GET' ? parameters.query : body.value),
  };
}

/** Where a path begins with an inbox, what the entry is about stands behind it, or is made by the call. */
function namedIn(operationId: string, { inbox, ...below }: Record<string, unknown>): unknown {
  const [named] = Object.values(below);
  return named ?? (operationId === 'createInboxLabel' ? undefined : inbox);
}

/** An app acts as its person; under which permission, stands beside what it asked. */
const grantOf = ({ actor }: Caller): object => (actor.kind === 'oauth_grant' ? { oauth_grant_id: actor.grantId } : {});

function detailsOf(grant: object, asked: unknown): string | null {
  const details = typeof asked === 'object' && asked !== null ? { ...grant, ...asked } : grant;
  if (Object.keys(details).length === 0) return null;
  return redactBody(details, { bytesMax: DETAILS_BYTES, bytes: JSON.stringify(details).length, isClipped: true });
}
