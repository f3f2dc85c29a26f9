import type { OperationValidators } from '../contract/index.ts';
import { whoActed, type AuditNote } from '../resources/audit/index.ts';
import { redactBody, redactTokens } from '../resources/logs/index.ts';
import type { CheckedRequest } from './checked-request.ts';

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
  const [named] = Object.values(below);
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
    details: detailsOf(request.method === 'GET' ? parameters.query : body.value),
  };
}

function detailsOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || Object.keys(body).length === 0) return null;
  return redactBody(body, { bytesMax: DETAILS_BYTES, bytes: JSON.stringify(body).length, isClipped: true });
}
