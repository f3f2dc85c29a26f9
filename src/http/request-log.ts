import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OperationValidators } from '../contract/index.ts';
import type { World } from '../platform/world/index.ts';
import { keyIdOf, type Actor } from '../resources/access/index.ts';
import { markerText, redactBody, redactPath, redactTokens, type RequestLog } from '../resources/logs/index.ts';

/** What is known of a request whose credential was good. */
export interface Caller {
  /** null: an operator, who belongs to none. */
  teamId: string | null;
  actor: Actor;
  /** The body as it was read; undefined while it was not, or where there is none. */
  body?: unknown;
}

type Operation = Pick<OperationValidators, 'operationId' | 'path'>;

const USER_AGENT_CHARS_MAX = 500;
const ENDPOINT_CHARS_MAX = 500;

/** Routes whose bodies are secrets through and through, as the contract writes them: a caller may encode any letter. */
const SECRET_ROUTES = /^\/(?:auth|oauth)\//;
/** What the log answers is in the log already. */
const LOG_ROUTES = /^\/logs(?:\/|$)/;
/** Its answer is a link that opens by itself. */
const SHARE = 'createShare';

export interface Answered {
  request: FastifyRequest;
  reply: FastifyReply;
  caller: Caller;
  payload: unknown;
}

/** Notes an answer that is about to be written. The log's id is the request's, which the caller sees in x-request-id. */
export function createAnswerNote(
  world: World,
  requestLog: RequestLog,
): (operation: Operation, answered: Answered) => void {
  const { body_bytes: bytesMax } = world.config.logs;
  const isOneTooMany = createFlood(world);
  return (operation, { request, reply, caller, payload }) => {
    const { teamId } = caller;
    // These are the logs of teams; what an operator changes stands in the audit log.
    if (teamId === null || isLookOfOurs(request, reply) || (reply.hasHeader('retry-after') && isOneTooMany(teamId)))
      return;
    const path = request.url.split('?', 1)[0] ?? '';
    const isUnread = Buffer.isBuffer(request.body) && caller.body === undefined;
    const isSecret = SECRET_ROUTES.test(operation.path);
    const isShare = operation.operationId === SHARE;
    const what = { isSecret, isShare, isDone: reply.statusCode < 400, isUnread, bytesMax };
    const isLog = LOG_ROUTES.test(operation.path);
    requestLog.add({
      id: request.id,
      team_id: teamId,
      api_key_id: keyIdOf(caller.actor),
      method: request.method,
      endpoint: clip(redactPath(path), ENDPOINT_CHARS_MAX),
      response_status: reply.statusCode,
      user_agent: clip(redactTokens(request.headers['user-agent'] ?? ''), USER_AGENT_CHARS_MAX),
      request_body: requestBody(request, caller, what),
      response_body: request.method === 'HEAD' || isLog ? null : responseBody(payload, what),
    });
  };
}

/** Whoever looks at the logs by our own command line, or follows them, would find little else in them. */
const isLookOfOurs = ({ method, headers }: FastifyRequest, { statusCode }: FastifyReply): boolean =>
  method === 'GET' && statusCode < 400 && (headers['user-agent'] ?? '').startsWith('rasket-cli/');

const FLOOD_MS = 1000;
const TEAMS_MAX = 10_000;

/** Of what is refused for its number, one a second and team is kept: the limit is to hold for the log too. */
function createFlood(world: World): (teamId: string) => boolean {
  const keptAt = new Map<string, number>();
  return (teamId) => {
    const now = world.clock.now();
    const last = keptAt.get(teamId);
    if (last !== undefined && now - last < FLOOD_MS) return true;
    if (keptAt.size >= TEAMS_MAX) keptAt.clear();
    keptAt.set(teamId, now);
    return false;
  };
}

const clip = (text: string, charsMax: number): string => (text.length <= charsMax ? text : text.slice(0, charsMax));

interface Kept {
  isSecret: boolean;
  isShare: boolean;
  isDone: boolean;
  /** There was a body and it was no JSON. */
  isUnread: boolean;
  bytesMax: number;
}

function requestBody(request: FastifyRequest, caller: Caller, kept: Kept): string | null {
  // A form is no buffer, and nobody has its bytes.
  const received = Buffer.isBuffer(request.body) ? request.body : undefined;
  const bytes = received?.length ?? bytesAnnounced(request);
  if (bytes === 0) return null;
  if (kept.isSecret) return markerText({ redacted: true, bytes });
  // It was refused before it was read: its size is all that is known.
  if (received === undefined) return markerText({ truncated: true, bytes });
  // What is no JSON cannot be searched for secrets.
  if (kept.isUnread) return markerText({ unreadable: true, bytes });
  // What was done holds its texts itself, and writing each of them twice would cost every send a tenth of its time.
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
  // Reading a long list again, to keep its beginning, would cost as much as making it.
  if (bytes > bytesMax) return markerText({ truncated: true, bytes });
  try {
    const value: unknown = JSON.parse(payload);
    if (isUnread) withoutQuote(value);
    return redactBody(value, { bytesMax, bytes, isShare });
  } catch {
    return markerText({ unreadable: true, bytes });
  }
}

/** Why JSON could not be read is told with the place where it broke, which may be the middle of a secret. */
function withoutQuote(error: unknown): void {
  const said = error as { message?: unknown };
  if (typeof said.message === 'string') said.message = said.message.replace(/(?:\.\.\.)?".*"(?:\.\.\.)?/s, '…');
}
