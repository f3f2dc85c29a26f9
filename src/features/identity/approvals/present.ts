import type { ApprovalContent } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import type { ApprovalRow, StoredStatus } from './approvals.store.ts';
import { readCall } from './proposed-call.ts';

/** No call takes as long: the process that made it has ended. */
const RUN_MS = 15 * 60_000;

export const brokenOffBefore = (now: number): number => now - RUN_MS;

interface Around {
  summaryOf: (operationId: string) => string;
  now: number;
}

const isBrokenOff = ({ status, decided_at: at }: ApprovalRow, now: number): boolean =>
  status === 'running' && (at ?? 0) <= brokenOffBefore(now);

/** Returns the status to show: a waiting call expires without a write. */
export function statusAt(row: ApprovalRow, now: number): StoredStatus {
  if (row.status === 'pending' && row.expires_at <= now) return 'expired';
  return isBrokenOff(row, now) ? 'failed' : row.status;
}

export const presentSummary = (row: ApprovalRow, { summaryOf, now }: Around) => ({
  id: row.id,
  status: statusAt(row, now),
  operation_id: row.operation_id,
  summary: summaryOf(row.operation_id),
  grant: { id: row.grant_id, client_name: row.client_name },
  created_at: isoTime(row.created_at),
  expires_at: isoTime(row.expires_at),
  decided_at: row.decided_at === null ? null : isoTime(row.decided_at),
  decided_by: row.decided_by_kind === null ? null : { kind: row.decided_by_kind, name: row.decided_by_name },
});

interface Fault {
  statusCode: number;
  name: string;
  message: string;
}

const BROKEN_OFF: Fault = {
  ...{ statusCode: 500, name: 'application_error' },
  message:
    'The service stopped while the call was made, and it is not known whether it was: look first, before the app asks for it again.',
};

export function presentApproval(row: ApprovalRow, around: Around & { content: ApprovalContent | null }) {
  const { call, files } = readCall(row.operation_id, row.call);
  const { path, query, body } = call;
  const error = row.error === null ? null : (JSON.parse(row.error) as Fault);
  return {
    object: 'approval' as const,
    ...presentSummary(row, around),
    call: { path: { ...path }, query: { ...query }, body },
    content: around.content,
    files: files.map((file) => ({ ...file })),
    reason: row.reason,
    result: JSON.parse(row.result ?? 'null') as unknown,
    error: isBrokenOff(row, around.now) ? BROKEN_OFF : error,
  };
}
