import type { FastifyReply, FastifyRequest } from 'fastify';
import { readRequirement, toCallerKind, type OperationValidators } from '../../contract/index.ts';
import { creationTime } from '../../platform/ids.ts';
import type { World } from '../../platform/world.ts';
import { readKeyId, type Identity } from '../../tenancy/access/index.ts';
import { markerText, redactBody, redactPath, redactTokens, type RequestLog } from '../../tenancy/logs/index.ts';
import { BoundedMap } from '../../platform/limits/index.ts';

/** The caller of a request with a valid credential. */
export interface Caller extends Identity {
  /** The parsed body; undefined before that, or without a body. */
  body?: unknown;
}

type Operation = Pick<OperationValidators, 'operationId' | 'path' | 'operation'>;

const USER_AGENT_CHARS_MAX = 500;
const ENDPOINT_CHARS_MAX = 500;

/**
 * Routes whose whole bodies are secrets, as the contract writes them: in the URL, a caller may encode any letter. The last
 * two name a person whose data is exported or erased.
 */
const SECRET_ROUTES = /^\/(?:(?:auth|oauth)\/|contacts\/(?:erase|export-person)$)/;
/** Responses of these routes are in the log already. */
const LOG_ROUTES = /^\/logs(?:\/|$)/;
/** The operations that return a link which works without a login. */
const SHARES: ReadonlySet<string> = new Set([
  'createShare',
  'createBroadcastShare',
  'createTemplateShare',
  'createAutomationShare',
]);

export interface Answered {
  request: FastifyRequest;
  reply: FastifyReply;
  caller: Caller;
  payload: unknown;
}

/**
 * Logs a response that is about to be written. The entry's id is the request's, which the caller sees in x-request-id.
 */
export function createAnswerNote(
  world: World,
  requestLog: RequestLog,
): (operation: Operation, answered: Answered) => void {
  const { body_bytes: bytesMax } = world.config.logs;
  const isOneTooMany = createFlood(world);
  return (operation, { request, reply, caller, payload }) => {
    const { teamId } = caller;
    // These are the logs of teams; changes by operators are in the audit log, and what people do for themselves may concern
    // another team than the one that they work in.
    if (
      teamId === null ||
      isOfPerson(operation, caller) ||
      isOwnPoll(request, reply) ||
      (reply.hasHeader('retry-after') && isOneTooMany(teamId))
    )
      return;
    const path = request.url.split('?', 1)[0] ?? '';
    const isUnread = Buffer.isBuffer(request.body) && caller.body === undefined;
    const isSecret = SECRET_ROUTES.test(operation.path);
    const isShare = SHARES.has(operation.operationId);
    const what = { isSecret, isShare, isDone: reply.statusCode < 400, isUnread, bytesMax };
    const isLog = LOG_ROUTES.test(operation.path);
    requestLog.add({
      id: request.id,
      created_at: creationTime(request.id, world.clock),
      team_id: teamId,
      api_key_id: readKeyId(caller.actor),
      method: request.method,
      endpoint: clip(redactPath(path), ENDPOINT_CHARS_MAX),
      response_status: reply.statusCode,
      user_agent: clip(redactTokens(request.headers['user-agent'] ?? ''), USER_AGENT_CHARS_MAX),
      request_body: requestBody(request, caller, what),
      response_body:
        request.method === 'HEAD' || isLog
          ? null
          : responseBody(payload, {
              ...what,
              isSecret: isSecret || isForAdmins(operation, request) || isOfAssistant(operation),
            }),
    });
  };
}

const isOfPerson = ({ operation }: Operation, { actor }: Caller): boolean =>
  actor.kind === 'session' && toCallerKind(readRequirement(operation)) === 'user';

/**
 * Reports whether the response contains data that a viewer, who may read the logs, may not see: reads for admins, and
 * changes of billing.
 */
const isForAdmins = ({ operation }: Operation, { method }: FastifyRequest): boolean => {
  const role = operation['x-service-role'] ?? '';
  return role === 'owner' || (method === 'GET' && role === 'admin');
};

/** Its responses contain those of any operation, and a reader of the logs may not see all of that. */
const isOfAssistant = ({ operation }: Operation): boolean => operation['x-mcp'] === true;

/** Reads by our own command line are not logged: otherwise a user who follows the logs with it would see little else. */
const isOwnPoll = ({ method, headers }: FastifyRequest, { statusCode }: FastifyReply): boolean =>
  method === 'GET' && statusCode < 400 && (headers['user-agent'] ?? '').startsWith('rasket-cli/');

const FLOOD_MS = 1000;
const TEAMS_MAX = 10_000;

/** Keeps one rate-limited request per second and team: the rate limit also limits the log. */
function createFlood(world: World): (teamId: string) => boolean {
  const keptAt = new BoundedMap<string, number>(TEAMS_MAX);
  return (teamId) => {
    const now = world.clock.now();
    const last = keptAt.get(teamId);
    if (last !== undefined && now - last < FLOOD_MS) return true;
    keptAt.set(teamId, now);
    return false;
  };
}

const clip = (text: string, charsMax: number): string => (text.length <= charsMax ? text : text.slice(0, charsMax));

interface Kept {
  isSecret: boolean;
  isShare: boolean;
  isDone: boolean;
  /** True if there was a body that was not JSON. */
  isUnread: boolean;
  bytesMax: number;
}

function requestBody(request: FastifyRequest, caller: Caller, kept: Kept): string | null {
  // The body of a form is not kept as a buffer.
  const received = Buffer.isBuffer(request.body) ? request.body : undefined;
  const bytes = received?.length ?? bytesAnnounced(request);
  if (bytes === 0) return null;
  if (kept.isSecret) return markerText({ redacted: true, bytes });
  // The request was refused before its body was read: only the size is known.
  if (received === undefined) return markerText({ truncated: true, bytes });
  // Secrets can be found and removed only in JSON.
  if (kept.isUnread) return markerText({ unreadable: true, bytes });
  // The object that a successful request created contains its texts already; writing them twice would cost each send a
  // tenth of its time.
  return redactBody(caller.body, { bytesMax: kept.bytesMax, bytes, isClipped: kept.isDone });
}

function bytesAnnounced(request: FastifyRequest): number {
  const announced = Number(request.headers['content-length'] ?? 0);
  return Number.isSafeInteger(announced) && announced > 0 ? announced : 0;
}

function responseBody(payload: unknown, { isSecret, isShare, isUnread, bytesMax }: Kept): string | null {
  if (typeof payload !== 'string' || payload === '') return null;
  const bytes = Buffer.byteLength(payload);
  if (isSecret) return markerText({ redacted: true, bytes });
  // Serializing a long list again, to keep its beginning, would cost as much as creating it.
  if (bytes > bytesMax) return markerText({ truncated: true, bytes });
  try {
    const value: unknown = JSON.parse(payload);
    if (isUnread) withoutQuote(value);
    return redactBody(value, { bytesMax, bytes, isShare });
  } catch {
    return markerText({ unreadable: true, bytes });
  }
}

/** Removes the excerpt from a JSON error: it quotes the place where parsing stopped, which may be within a secret. */
function withoutQuote(error: unknown): void {
  const said = error as { message?: unknown };
  if (typeof said.message === 'string') said.message = said.message.replace(/(?:\.\.\.)?".*"(?:\.\.\.)?/s, '…');
}
